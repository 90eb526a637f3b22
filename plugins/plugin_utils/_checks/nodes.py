# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node answer, and is every node a different machine?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster import unreachable
from .._cluster.machines import shared_workdirs
from .._cluster.node import Node, Silent
from .._text.table import one_line
from .model import Cluster, Outcome, Outcomes, completed, failed, passed

# Port, known_hosts file and the host's name in it, in the words of OpenSSH.
_KEYS = re.compile(r"\bkey in (\S+?)(?::[0-9]+)?(?=\s|$)")
_KEY = re.compile(r"\bHost key for (\S+) has changed")
_PORT = re.compile(r"\bport ([0-9]{1,5})\b")
# Ansible's introduction of what ssh said.
_SSH = re.compile(r"(?:over|via) ssh: ")
SOURCE = "launch_workdir"


def answer(cluster: Cluster) -> Outcomes:
    """Report which nodes answered, and why the others did not."""
    for name in cluster.nodes:
        yield name, passed("it answered")
    for name, silent in cluster.silent.items():
        yield name, no_answer(silent)


def no_answer(silent: Silent) -> Outcome:
    """Return why a node did not answer, what was expected of it, and what to do."""
    # The original text is kept: it names the user and the known_hosts file, which the inventory need not.
    tried = _connection(silent.name, silent.address or silent.name, silent.message)
    cause = unreachable.why(silent.message, tried, "Ansible", silent.reason_key)
    # Where only the module's traceback says why, the message does not.
    elsewhere = unreachable.is_known(silent.message) and not unreachable.is_known(silent.why, silent.reason_key)
    observed = cause.observed if elsewhere else silent.why
    return dataclasses.replace(Outcome.of(cause), observed=_words_of_ssh(silent.message) or observed)


def _words_of_ssh(message: str) -> str:
    """Return what ssh said, in one line: the end of it, which says why, without banners and Ansible's introduction."""
    _introduction, *words = _SSH.split(message, maxsplit=1)
    lines = [line for line in "".join(words).splitlines() if line.strip()]
    return one_line(" ".join(lines[-2:]))


def _connection(name: str, host: str, text: str) -> unreachable.ConnectionAttempt:
    port, file, key = _PORT.search(text), _KEYS.search(text), _KEY.search(text)
    known_hosts = file[1] if file else "~/.ssh/known_hosts"
    return unreachable.ConnectionAttempt(
        name, host, int(port[1]) if port else 22, None, known_hosts, key[1] if key else host
    )


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
