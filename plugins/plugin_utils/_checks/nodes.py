# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node answer, and is it one node?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster import unreachable
from .._cluster.machines import NETWORK, shared_workdirs
from .._cluster.node import Node
from .._text.table import names
from .model import Cluster, Looks, Seen, completed, fine, seen_of

# Which port, which file of keys and which name there: as OpenSSH says it.
_KEYS = re.compile(r"\bkey in (\S+?)(?::[0-9]+)?(?=\s|$)")
_KEY = re.compile(r"\bHost key for (\S+) has changed")
_PORT = re.compile(r"\bport ([0-9]{1,5})\b")


def answer(cluster: Cluster) -> Looks:
    """Tell who answered, and of the others why not."""
    for name in cluster.nodes:
        yield name, fine("it answered")
    for name, why in cluster.silent.items():
        # What is seen stays as it was said: it names the user and the file of keys, which the inventory need not.
        cause = unreachable.why(why, _tried(name, cluster.addresses.get(name) or name, why), "Ansible")
        yield name, dataclasses.replace(seen_of(cause), observed=why)


def _tried(name: str, host: str, said: str) -> unreachable.Tried:
    port = _PORT.search(said)
    file, key = _KEYS.search(said), _KEY.search(said)
    return unreachable.Tried(
        name,
        host,
        int(port.group(1)) if port else 22,
        None,
        file.group(1) if file else "~/.ssh/known_hosts",
        key.group(1) if key else host,
    )


def machines(cluster: Cluster) -> Looks:
    """Find two names for one node."""
    return completed(cluster, _twice(cluster), lambda node: fine(node.facts.workdir.identity or node.facts.hostname))


def _twice(cluster: Cluster) -> Looks:
    same = shared_workdirs(cluster.facts)
    for name, other in same.items():
        facts = cluster.nodes[name].facts
        yield (
            name,
            Seen(
                "fail",
                f"its work directory {facts.workdir.path} on host {facts.hostname} is also that of {other}",
                "one machine, or at least one work directory, for each node",
                "launch_workdir",
                f"remove {name} or {other} from the group nodes, or give each its own launch_workdir",
            ),
        )
    first: dict[str, str] = {}
    for name, address in cluster.addresses.items():
        other = first.setdefault(address.lower(), name)
        if other != name and name not in same:
            yield (
                name,
                Seen(
                    "fail",
                    f"its address {address} is that of {other}",
                    "one address for each node",
                    "inventory",
                    f"correct ansible_host of {name}, or remove one of the two from the group nodes",
                ),
            )


def work_directory(cluster: Cluster) -> Looks:
    """Find work directories that are shared or cannot be written."""
    return completed(
        cluster,
        [*_on_file_servers(cluster.facts), *_unwritable(cluster.facts)],
        lambda node: fine(_workdir(node), "launch_workdir"),
    )


def _on_file_servers(facts: Mapping[str, NodeFacts]) -> Looks:
    """Find work directories that can be one directory of a file server, seen by several machines.

    One node with it on the network is enough: another may be the server, with a disk at the same path.
    """
    paths: dict[str, list[str]] = {}
    for node, each in facts.items():
        paths.setdefault(each.workdir.path, []).append(node)
    for path, nodes in paths.items():
        types: dict[str, list[str]] = {}
        for node in nodes:
            filesystem = facts[node].workdir.filesystem
            if filesystem is not None and NETWORK.fullmatch(filesystem):
                types.setdefault(filesystem, []).append(node)
        # Names for one directory of one machine are another check's.
        if not types or len({facts[node].workdir.identity or node for node in nodes}) == 1:
            continue
        seen = ", ".join(f"{filesystem} on {names(those)}" for filesystem, those in types.items())
        for node in nodes:
            yield (
                node,
                Seen(
                    "fail",
                    f"{path} is the same path on a network file system ({seen})",
                    "a directory on a disk of each node (its locks are the node's own)",
                    "launch_workdir",
                    "set launch_workdir to a local disk, or give each node its own: "
                    "{{ inventory_hostname }} in the path",
                ),
            )


def _unwritable(facts: Mapping[str, NodeFacts]) -> Looks:
    for node, each in facts.items():
        if not each.workdir.writable:
            yield (
                node,
                Seen(
                    "fail",
                    f"{each.workdir.path} cannot be written by user {each.user.name}",
                    "a directory that this user can create or write",
                    "launch_workdir",
                    f"give it to {each.user.name}, or set launch_workdir to another place",
                ),
            )


def _workdir(node: Node) -> str:
    workdir = node.facts.workdir
    return f"{workdir.path} can be written ({workdir.filesystem or 'file system not known'})"
