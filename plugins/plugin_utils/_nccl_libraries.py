# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the ranks of all nodes load libraries that can meet?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl_view import NodeView, version_text
from ansible_collections.muster.train.plugins.plugin_utils._table import names

CHECK = "library"
REMEDY = "take the nodes of one kind out of the group nodes"


def compare(nodes: Sequence[NodeView]) -> list[Finding]:
    """Find nodes whose GPUs need another library, or that have another release of it, than most nodes."""
    with_gpus = [node for node in nodes if node.gpu is not None and node.gpu.count]
    by_name = _by(with_gpus, [node.library.name for node in with_gpus])
    if len(by_name) > 1:
        usual, *others = by_name
        return [_other_library(node, usual) for those in others for node in those]
    known = [(node, node.library.version[:2]) for node in with_gpus if node.library.version]
    usual, *others = _by([node for node, _release in known], [release for _node, release in known]) or [[]]
    return [_other_release(node, usual) for those in others for node in those]


def _by(nodes: Sequence[NodeView], kinds: Iterable[object]) -> list[list[NodeView]]:
    """Part the nodes by kind, the most usual first, then by their first node."""
    pairs = list(zip(nodes, kinds, strict=True))
    order = [kind for kind, _count in Counter(kind for _node, kind in pairs).most_common()]
    return [[node for node, own in pairs if own == kind] for kind in order]


def _other_library(node: NodeView, usual: Sequence[NodeView]) -> Finding:
    return Finding(
        check=CHECK,
        node=node.name,
        status="fail",
        observed=f"its GPUs need {node.library.name.upper()}, whose ranks cannot meet those of "
        f"{usual[0].library.name.upper()}",
        expected=f"{usual[0].library.name.upper()}, as on {names([each.name for each in usual])}",
        source="facts gpu, versions",
        remedy=REMEDY,
    )


def _other_release(node: NodeView, usual: Sequence[NodeView]) -> Finding:
    return Finding(
        check=CHECK,
        node=node.name,
        status="warn",
        observed=version_text(node.library),
        expected=f"{version_text(usual[0].library)}, as on {names([each.name for each in usual])}: ranks of two "
        "releases are not made to meet",
        source="facts versions",
        remedy="install the same release on all nodes",
    )
