# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node is bound into the image of its ranks.

Devices are not bound: Apptainer shows the image all of /dev, and what it binds below it cannot be opened (nodev).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.binds import as_bind, source_of

from .node import Node
from .policy import ClusterPolicy

TOPOLOGY_FILE = "NCCL_TOPO_FILE"
READ_ONLY = "ro"


def wanted(binds: Sequence[str], layers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what the policy binds, and a topology file that a layer of the environment names.

    Not its directory, which may hide that of the image, such as /opt.
    """
    files = dict.fromkeys(str(layer[TOPOLOGY_FILE]) for layer in layers if TOPOLOGY_FILE in layer)
    return [*binds, *(as_bind(path, READ_ONLY) for path in files if path.startswith("/"))]


def written_to(node: Node, policy: ClusterPolicy) -> list[str]:
    """Return the directories of a run on the node: runs, code and shared outputs."""
    shared = (node.facts.files or {}).get(policy.shared_output_dir)
    paths = [node.facts.workdir.path, *([node.facts.code.path] if node.facts.code else [])]
    return [*paths, *([shared.path] if shared else [])]


def binds_of(node: Node, policy: ClusterPolicy, topology_file: str | None) -> list[str]:
    """Return all binds of a node; topology_file is the one that rule D8 may name."""
    existing, links = (facts.binds, facts.links) if (facts := node.facts.apptainer) else ({}, {})
    # A link that the image shows, as in the home, leads nowhere without its target.
    written = [path for link in written_to(node, policy) for path in (*([links[link]] if link in links else []), link)]
    named = {source_of(bind) for bind in policy.binds}
    present = [path for path, exists in existing.items() if exists and path not in named]
    read_only = [as_bind(path, READ_ONLY) for path in [*present, *([topology_file] if topology_file else [])]]
    return list(dict.fromkeys([*map(as_bind, written), *policy.binds, *read_only]))
