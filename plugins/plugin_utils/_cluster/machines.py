# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine a node is on: two names of one, and nodes that share a network stack.

Functions take the facts by node, in node-rank order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

Facts = Mapping[str, NodeFacts]

# File systems that several machines mount at once: there a lock or a name is not one node's own.
NETWORK = re.compile(
    r"9p|acfs|afs|beegfs(_nodev)?|ceph|cifs|coda|fhgfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|panfs|pvfs2"
    r"|smb3|smbfs|wekafs|fuse\.(beegfs|ceph(-fuse)?|daos|gcsfuse|glusterfs|juicefs|mfs|s3fs|seaweedfs|sshfs)"
)


def machine(node: str, facts: NodeFacts) -> tuple[str | None, str | None]:
    """Name the machine that a node is on: equal means one machine. A node that cannot tell is a machine of its own."""
    return (facts.machine_id, facts.boot_id) if facts.boot_id else (None, node)


def share_network(facts: Facts) -> bool:
    """Say whether all nodes have one network stack: containers of one machine are told apart by their addresses."""
    stacks = {
        (machine(node, each), frozenset(own.address for own in each.net.addresses) if each.net else None)
        for node, each in facts.items()
    }
    return len(stacks) == 1


def shared_workdirs(facts: Facts) -> dict[str, str]:
    """Return the nodes that are another name of one before: the same work directory on the same machine."""
    first: dict[str, str] = {}
    same = {}
    for node, own in facts.items():
        other = first.setdefault(own.workdir.identity, node) if own.workdir.identity is not None else node
        if other != node:
            same[node] = other
    return same
