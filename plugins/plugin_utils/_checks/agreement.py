# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes agree, and can each of them hold its part?

Every check takes the facts by node, in node-rank order, and returns what it found.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._findings.finding import Finding
from .._request.hints import command
from .._text.table import names

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


def check_known(facts: Facts, files: bool) -> list[Finding]:
    """Find facts that the plan needs and that could not be gathered."""
    return [
        Finding(
            check="facts",
            node=node,
            status="error",
            observed=f"nothing is known about {part}",
            expected=f"facts {part}",
            source="module node_facts",
            remedy=f"ask the node with ansible {shlex.quote(node)} -m muster.train.node_facts "
            f"-a {shlex.quote(f'workdir={each.workdir.path}')}",
        )
        for node, each in facts.items()
        for part in ("net", "code", *(["files"] if files else []))
        if getattr(each, part) is None
    ]


def check_machines(facts: Facts) -> list[Finding]:
    """Find two names for one node: the same work directory on the same machine."""
    first: dict[str, str] = {}
    findings = []
    for node, each in facts.items():
        identity = each.workdir.identity
        if identity is None:
            continue
        other = first.setdefault(identity, node)
        if other != node:
            findings.append(
                Finding(
                    check="node",
                    node=node,
                    status="fail",
                    observed=f"its work directory {each.workdir.path} on host {each.hostname} is also that of {other}",
                    expected="one machine, or at least one work directory, for each node",
                    source="launch_workdir",
                    remedy=f"remove {node} or {other} from the group nodes, or give each its own launch_workdir",
                )
            )
    return findings


def check_filesystems(facts: Facts) -> list[Finding]:
    """Find work directories that can be one directory of a file server, seen by several machines.

    One node with it on the network is enough: another may be the server, with a disk at the same path.
    """
    paths: dict[str, list[str]] = {}
    for node, each in facts.items():
        paths.setdefault(each.workdir.path, []).append(node)
    findings = []
    for path, nodes in paths.items():
        types: dict[str, list[str]] = {}
        for node in nodes:
            filesystem = facts[node].workdir.filesystem
            if filesystem is not None and NETWORK.fullmatch(filesystem):
                types.setdefault(filesystem, []).append(node)
        # Names for one directory of one machine are check_machines' finding.
        if not types or len({facts[node].workdir.identity or node for node in nodes}) == 1:
            continue
        seen = ", ".join(f"{filesystem} on {names(those)}" for filesystem, those in types.items())
        findings += [
            Finding(
                check="work directory",
                node=node,
                status="fail",
                observed=f"{path} is the same path on a network file system ({seen})",
                expected="a directory on a disk of each node (its locks are the node's own)",
                source="launch_workdir",
                remedy="set launch_workdir to a local disk, or give each node its own: "
                "{{ inventory_hostname }} in the path",
            )
            for node in nodes
        ]
    return findings


def check_directories(facts: Facts) -> list[Finding]:
    """Find work directories that cannot be written and code directories that are not there."""
    findings = []
    for node, each in facts.items():
        if not each.workdir.writable:
            findings.append(
                Finding(
                    check="work directory",
                    node=node,
                    status="fail",
                    observed=f"{each.workdir.path} cannot be written by user {each.user.name}",
                    expected="a directory that this user can create or write",
                    source="launch_workdir",
                    remedy=f"give it to {each.user.name}, or set launch_workdir to another place",
                )
            )
        if each.code is not None and not each.code.exists:
            findings.append(
                Finding(
                    check="code directory",
                    node=node,
                    status="fail",
                    observed=f"{each.code.path} does not exist",
                    expected="the training code",
                    source="launch_code_dir",
                    remedy="put the code there, or set launch_code_dir to where it is",
                )
            )
    return findings


def check_python(facts: Facts) -> list[Finding]:
    """Find nodes without the training interpreter."""
    return [
        Finding(
            check="python",
            node=node,
            status="fail",
            observed=f"{each.python.command} is not there",
            expected="the training interpreter",
            source="launch_python",
            remedy="install it there, or set launch_python to the interpreter that has the training's packages",
        )
        for node, each in facts.items()
        if each.python.path is None
    ]


def check_torch(facts: Facts, elsewhere: Collection[str]) -> list[Finding]:
    """Find nodes whose training interpreter has no torch for torchrun, for certain.

    elsewhere is the nodes whose ranks get variables that send Python to other directories than the node knows.
    """
    return [
        Finding(
            check="torch",
            node=node,
            status="fail",
            observed=f"{each.python.path} has no torch (looked in {names(each.versions.site_packages)})",
            expected="torch, which the launcher torchrun is part of",
            source="launch_python",
            remedy=f"install it there with {shlex.quote(each.python.path)} -m pip install torch, "
            "or set launch_python to the interpreter that has the training's packages",
        )
        for node, each in facts.items()
        if each.python.path is not None
        and each.versions is not None
        and each.versions.torch is None
        and each.versions.site_packages  # None or nothing: nobody could look
        and node not in elsewhere
    ]


def check_slot(facts: Facts, slot: str, call: str | None) -> list[Finding]:
    """Find slots that another run holds; call is how commands are called here."""
    findings = []
    for node, each in facts.items():
        holder = each.holder
        if holder is None:
            continue
        seen = [f"slot {slot} is held by {holder.run_id or 'a run that cannot be named'}"]
        seen += [f"as node {holder.node}"] if holder.node else []
        seen += [f"since {holder.since}"] if holder.since else []
        remedy = "wait for its end"
        if holder.run_id:
            remedy += f", or stop it: {command('stop', holder.run_id, call)}"
        findings.append(
            Finding(
                check="slot",
                node=node,
                status="fail",
                observed=" ".join(seen),
                expected="a free slot",
                source="launch_slot",
                remedy=remedy,
            )
        )
    return findings
