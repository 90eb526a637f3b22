# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the ranks of all nodes load libraries that can meet?"""

from __future__ import annotations

from collections.abc import Sequence

from .._cluster.peers import usual
from .._findings.finding import Finding
from .library import Library
from .view import NodeView, version_text

CHECK = "library"
REMEDY = "take the nodes of one kind out of the group nodes"


def compare(nodes: Sequence[NodeView]) -> list[Finding]:
    """Find nodes whose GPUs need another library, or that have another release of it, than most nodes."""
    libraries = {node.name: node.library for node in nodes if node.gpu is not None and node.gpu.count}
    peers = usual({name: library.name for name, library in libraries.items()})
    if peers is not None and peers.odd:
        return [_other_library(name, libraries[name], peers.value.upper(), peers.source) for name in peers.odd]
    releases = usual({name: library.version[:2] for name, library in libraries.items() if library.version})
    if releases is None:
        return []
    most = version_text(libraries[releases.nodes[0]])
    return [_other_release(name, libraries[name], most, releases.source) for name in releases.odd]


def _other_library(node: str, library: Library, most: str, where: str) -> Finding:
    return Finding(
        check=CHECK,
        node=node,
        status="fail",
        observed=f"its GPUs need {library.name.upper()}, whose ranks cannot meet those of {most}",
        expected=f"{most}, {where}",
        source="facts gpu, versions",
        remedy=REMEDY,
    )


def _other_release(node: str, library: Library, most: str, where: str) -> Finding:
    return Finding(
        check=CHECK,
        node=node,
        status="warn",
        observed=version_text(library),
        expected=f"{most}, {where}: ranks of two releases are not made to meet",
        source="facts versions",
        remedy="install the same release on all nodes",
    )
