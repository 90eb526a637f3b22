# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node answer, and is every node a different machine?"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.machines import shared_workdirs
from .._cluster.node import Node
from .._cluster.silence import why_silent
from .model import Cluster, Outcome, Outcomes, completed, failed, passed

SOURCE = "launch_workdir"


def answer(cluster: Cluster) -> Outcomes:
    """Report which nodes answered, and why the others did not."""
    for name in cluster.nodes:
        yield name, passed("it answered")
    for name, silent in cluster.silent.items():
        yield name, Outcome.of(why_silent(silent))


def machines(cluster: Cluster) -> Outcomes:
    """Find two names for one node."""
    duplicates = _duplicates(cluster)
    return completed(cluster, duplicates, lambda node: passed(node.facts.workdir.identity or node.facts.hostname))


def _duplicates(cluster: Cluster) -> Outcomes:
    same = shared_workdirs(cluster.facts)
    for name, other in same.items():
        facts = cluster.nodes[name].facts
        observed = f"its work directory {facts.workdir.path} on host {facts.hostname} is also used by {other}"
        remedy = f"remove {name} or {other} from the group nodes, or give them different values of launch_workdir"
        yield name, failed(observed, "one machine, or at least one work directory, for each node", SOURCE, remedy)
    first: dict[str, str] = {}
    for name, address in cluster.addresses.items():
        other = first.setdefault(address.lower(), name)
        if other != name and name not in same:
            remedy = f"correct ansible_host of {name}, or remove one of the two from the group nodes"
            observed = f"{other} has the same address, {address}"
            yield name, failed(observed, "one address for each node", "inventory", remedy)


def work_directory(cluster: Cluster) -> Outcomes:
    """Find work directories that cannot be written, or where no lock can be held."""
    return completed(cluster, [*_unwritable(cluster.facts), *_without_locks(cluster.facts)], _workdir)


def _unwritable(facts: Mapping[str, NodeFacts]) -> Outcomes:
    for name, node in facts.items():
        if not node.workdir.writable:
            observed = f"{node.workdir.path} cannot be written by user {node.user.name}"
            remedy = f"make {node.user.name} its owner, or set launch_workdir to another place"
            yield name, failed(observed, "a directory that this user can create or write", SOURCE, remedy)


def _without_locks(facts: Mapping[str, NodeFacts]) -> Outcomes:
    for name, node in facts.items():
        workdir = node.workdir
        if workdir.flock is False:
            where = f"{workdir.path} on {workdir.filesystem or 'its file system'}"
            observed = f"flock(2) does not work in {where}: {workdir.flock_error}"
            expected = "a file system with flock(2), whose locks show that a run is alive"
            remedy = "set launch_workdir to a local disk, or mount the file system with locks (Lustre: -o flock)"
            yield name, failed(observed, expected, "flock(2), tried on a new file", remedy)


def _workdir(node: Node) -> Outcome:
    workdir = node.facts.workdir
    return passed(f"{workdir.path} can be written ({workdir.filesystem or 'file system not known'})", SOURCE)
