# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does every node answer, and is it one node? (`_checks/` is private to the collection.)"""

from __future__ import annotations

import re
import shlex

from ansible_collections.muster.train.plugins.plugin_utils import _agree
from ansible_collections.muster.train.plugins.plugin_utils._checks._model import (
    Cluster,
    Node,
    Seen,
    completed,
    finding,
    fine,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding

# What Ansible or ssh says, and what to do about it.
_CAUSES = (
    (
        r"host key verification failed|host key has changed",
        "show and record its key: ansible-playbook muster.train.discover -e hosts={node}",
    ),
    (
        r"permission denied|authentication fail",
        "put your public key there (ssh-copy-id {node}), or correct ansible_user",
    ),
    (r"could not resolve|name or service not known", "give its address as ansible_host, or correct the name"),
    (r"no route to host|network is unreachable", "look at routes and addresses: it has no route from here"),
    (r"timed? ?out", "see whether it is up, and whether a firewall drops port 22"),
    (r"refused", "start sshd there, or correct ansible_port"),
    (r"sudo|missing become password|a password is required", "give the user passwordless sudo"),
    (
        r"no python|python.* not found|discovered_interpreter",
        "install Python 3.9 or newer there, or set ansible_python_interpreter",
    ),
    (r"no space left", "free space in the home directory there"),
)
PING = "see that Ansible reaches it: ansible {node} -m ansible.builtin.ping"


def answer(cluster: Cluster) -> list[Finding]:
    """Tell who answered, and of the others why not."""
    found = [finding("answer", name, fine("it answered")) for name in cluster.nodes]
    for name, why in cluster.silent.items():
        remedy = next((text for pattern, text in _CAUSES if re.search(pattern, why, re.IGNORECASE)), PING)
        seen = Seen("error", why, "an answer to node_facts", "Ansible", remedy.format(node=shlex.quote(name)))
        found.append(finding("answer", name, seen))
    return found


def machines(cluster: Cluster) -> list[Finding]:
    """Find two names for one node."""
    found = _agree.check_machines(cluster.facts)
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
    found = _agree.check_filesystems(cluster.facts) + [
        each for each in _agree.check_directories(cluster.facts) if each.check == "work directory"
    ]
    return completed("work directory", cluster, found, lambda node: fine(_workdir(node), "launch_workdir"))


def _workdir(node: Node) -> str:
    workdir = node.facts.workdir
    return f"{workdir.path} can be written ({workdir.filesystem or 'file system not known'})"
