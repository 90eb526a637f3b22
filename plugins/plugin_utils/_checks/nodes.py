# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node answer, and is it one node?"""

from __future__ import annotations

import dataclasses
import re

from .._cluster import unreachable
from .._cluster.node import Node
from .._findings.finding import Finding
from . import agreement
from .model import Cluster, Seen, completed, finding, fine

# Which port, which file of keys and which name there: as OpenSSH says it.
_KEYS = re.compile(r"\bkey in (\S+?)(?::[0-9]+)?(?=\s|$)")
_KEY = re.compile(r"\bHost key for (\S+) has changed")
_PORT = re.compile(r"\bport ([0-9]{1,5})\b")


def answer(cluster: Cluster) -> list[Finding]:
    """Tell who answered, and of the others why not."""
    found = [finding("answer", name, fine("it answered")) for name in cluster.nodes]
    for name, why in cluster.silent.items():
        # What is seen stays as it was said: it names the user and the file of keys, which the inventory need not.
        cause = unreachable.why(why, _tried(name, cluster.addresses.get(name) or name, why), "Ansible")
        found.append(dataclasses.replace(cause, check="answer", observed=why))
    return found


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


def machines(cluster: Cluster) -> list[Finding]:
    """Find two names for one node."""
    found = agreement.check_machines(cluster.facts)
    told = {each.node for each in found}
    first: dict[str, str] = {}
    for name, address in cluster.addresses.items():
        other = first.setdefault(address.lower(), name)
        if other != name and name not in told:
            seen = Seen(
                "fail",
                f"its address {address} is that of {other}",
                "one address for each node",
                "inventory",
                f"correct ansible_host of {name}, or remove one of the two from the group nodes",
            )
            found.append(finding("node", name, seen))
    return completed("node", cluster, found, lambda node: fine(node.facts.workdir.identity or node.facts.hostname))


def work_directory(cluster: Cluster) -> list[Finding]:
    """Find work directories that are shared or cannot be written."""
    found = agreement.check_filesystems(cluster.facts) + [
        each for each in agreement.check_directories(cluster.facts) if each.check == "work directory"
    ]
    return completed("work directory", cluster, found, lambda node: fine(_workdir(node), "launch_workdir"))


def _workdir(node: Node) -> str:
    workdir = node.facts.workdir
    return f"{workdir.path} can be written ({workdir.filesystem or 'file system not known'})"
