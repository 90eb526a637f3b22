# SPDX-License-Identifier: GPL-3.0-or-later
"""A new inventory from the facts of hosts: a table of the hosts, and the policy that fits them.

A pure function. The files' text is in the templates of the role discover; this module prepares what they show.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._cluster.head_name import decide_address
from .._cluster.machines import shared_workdirs
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy
from .._detect.topology import short_name
from .._findings.finding import Finding
from .._findings.origin import DEFAULT
from .._nccl.environments import Users, decide_for
from .._nccl.view import FabricPolicy
from .._text.table import node_names, one_line, table

HEADERS = ("node", "GPUs", "RDMA", "container engine", "memory to lock", "work directory")
COMMENT_WIDTH = 4096
# File systems of one machine; the first of these directories is taken that every node has on one, with some room.
LOCAL = re.compile(r"ext[234]|xfs|btrfs|zfs|f2fs|jfs|bcachefs|overlay")
DISKS = ("/scratch", "/local", "/var/tmp")
ROOM = 20 << 30
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Placeholder for any text within a line; no real name or command equals it.
ANY = "<any words, 5f0c7e>"
MAKERS = {"nvidia": "NVIDIA", "amd": "AMD"}


@frozen
class NamedHost:
    """A host that the user named: how it is reached, and the node, or the finding that explains why there is none."""

    name: str
    host: str
    address: str | None = None
    user: str | None = None
    port: int | None = None
    node: Node | None = None
    finding: Finding | None = None


@frozen
class Choice:
    """A value of the policy (None: it is not written) and the reason."""

    value: Any
    why: str


@frozen
class Discovered:
    """The new inventory: rows with the columns HEADERS, one for nodes that are alike, and the policy by name."""

    hosts: Sequence[NamedHost]
    rows: list[tuple[str, ...]]
    choices: dict[str, Choice]
    findings: list[Finding]

    @property
    def reached(self) -> list[NamedHost]:
        """The hosts that answered."""
        return [host for host in self.hosts if host.node]

    def to_dict(self) -> dict[str, Any]:
        """Return the hosts and the policy as plain data."""
        columns = ("name", "host", "address", "user", "port")
        return {
            "hosts": [
                {**{name: getattr(host, name) for name in columns}, "reached": host.node is not None}
                for host in self.hosts
            ],
            "choices": {name: {"value": choice.value, "reason": choice.why} for name, choice in self.choices.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def discover(hosts: Sequence[NamedHost]) -> Discovered:
    """Choose the policy from the facts of all hosts, the head first; a choice without facts has that as its reason."""
    findings = [host.finding for host in hosts if host.finding]
    answered = [host for host in hosts if host.node]
    nodes = [host.node for host in hosts if host.node]
    facts = {node.name: node.facts for node in nodes}
    findings += [dataclasses.replace(item, remedy=f"{item.remedy} (remove the other)") for item in _twice(facts)]
    if not answered:
        return Discovered(hosts, [], {}, findings)
    decided, _findings = decide_for(nodes, ClusterPolicy(), Users(FabricPolicy("auto", DEFAULT)))
    gpus = {node.name: node.gpu.count if node.gpu else None for node in nodes}
    fabric = decided.fabric.value if decided else None
    why = decided.fabric.reason if decided else "not known"
    choices = {
        "nproc": _nproc(gpus),
        "mode": Choice("rdma" if fabric == "rdma" else None, why),
        "runtime": _runtime(facts),
        "workdir": _workdir(facts),
        "head_address": _head_address(answered[0], facts),
    }
    return Discovered(hosts, _rows(nodes), choices, findings)


def _twice(facts: Mapping[str, NodeFacts]) -> list[Finding]:
    """Find two names for one machine, with a remedy for a list of hosts."""
    return [
        Finding(
            check="node",
            node=name,
            status="fail",
            observed=f"it is the machine {facts[name].hostname}, which has another name too",
            expected="one name for each machine",
            source="machine id, boot id and work directory",
            remedy="name it once",
        )
        for name in shared_workdirs(facts)
    ]


def _nproc(gpus: Mapping[str, int | None]) -> Choice:
    counts = sorted({count for count in gpus.values() if count is not None})
    if not counts or counts == [0]:
        return Choice(None, "no GPU was found: one rank per node, on the CPU")
    if len(counts) > 1 or None in gpus.values():
        return Choice(None, "the nodes differ in their GPUs: a launch needs -e nproc=N")
    return Choice(counts[0], "one rank per GPU")


def _runtime(facts: Mapping[str, NodeFacts]) -> Choice:
    usable = [name for name, node in facts.items() if node.engine and node.engine.running and node.engine.compose]
    without = [name for name in facts if name not in usable]
    if not without:
        # Not docker: without an image, which only the user can name, neither setup nor a launch would work.
        return Choice(
            "host",
            "docker is possible too, a container engine with the compose plugin answers on every node: "
            "it needs container_image, and setup before a launch",
        )
    reasons = dict.fromkeys(
        one_line(node.engine.why, 100) for name in without if (node := facts[name]).engine and node.engine.why
    )
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return Choice(
        "host", f"no container engine with the compose plugin answers this user on {node_names(without)}{why}"
    )


def _workdir(facts: Mapping[str, NodeFacts]) -> Choice:
    types = {name: node.workdir.filesystem for name, node in facts.items()}
    # A home on tmpfs is the node's own too: a node without disks.
    remote = [name for name, kind in types.items() if kind not in (None, "tmpfs") and not LOCAL.fullmatch(str(kind))]
    if not remote:
        return Choice("~/muster", "on each node's local disk")
    home = f"the home is on {node_names(sorted({str(types[name]) for name in remote}))} on {node_names(remote)}"
    users = {node.user.name for node in facts.values()}
    user = users.pop() if len(users) == 1 else ""
    for directory in DISKS:
        if USER.fullmatch(user) and all(_has_room(node, directory) for node in facts.values()):
            return Choice(f"{directory}/{user}/muster", f"on a local disk of each node; {home}")
    cost = "nodes may share it, but while the file server does not answer, so do a run's logs and checkpoints in it"
    return Choice("~/muster", f"{home}: {cost}. No local disk with room is on all nodes ({', '.join(DISKS)})")


def _has_room(node: NodeFacts, directory: str) -> bool:
    """Return whether this user can keep runs there, on a file system that only this machine has."""
    disk = next((disk for disk in node.disks or [] if disk.path == directory), None)
    if disk is None or not disk.usable or disk.read_only:
        return False
    return bool(LOCAL.fullmatch(disk.filesystem or "")) and (disk.free_bytes or 0) >= ROOM


def _head_address(head: NamedHost, facts: Mapping[str, NodeFacts]) -> Choice:
    if facts[head.name].net is None:
        return Choice(None, "not known: the head's network could not be read")
    address, _findings = decide_address(facts, "", head.address or head.host)
    if address.value in (head.address, head.host):
        return Choice(address.value, "the address where it was reached, which is one of its addresses")
    return Choice(
        None, f"chosen by each launch, now {address.value} - {address.reason}" if address.value else "not known"
    )


def _rows(nodes: Sequence[Node]) -> list[tuple[str, ...]]:
    """Return one row for nodes that are alike."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        cells = (_gpus(node.gpu), _hcas(node.rdma), _engine(node.facts), _memlock(node.facts), _disk(node.facts))
        alike.setdefault(cells, []).append(node.name)
    return [(node_names(same, 4), *cells) for cells, same in alike.items()]


def _gpus(gpu: Gpu | None) -> str:
    if gpu is None:
        return "not known"
    models = " or ".join(dict.fromkeys(short_name(device.name) for device in gpu.devices))
    return f"{gpu.count} x {MAKERS.get(gpu.vendor or '', '')} {models}".strip() if gpu.count else "none"


def _hcas(rdma: Rdma | None) -> str:
    if rdma is None:
        return "not known"
    kinds: dict[str, list[bool]] = {}
    for hca in rdma.hcas:
        layers = "/".join(dict.fromkeys(port.link_layer or "?" for port in hca.ports))
        kinds.setdefault(f"{hca.driver or 'unknown'} {layers}".strip(), []).append(
            any(port.usable for port in hca.ports)
        )
    return "; ".join(f"{len(all_)} x {kind}, {sum(all_)} usable" for kind, all_ in kinds.items()) or "none"


def _engine(node: NodeFacts) -> str:
    engine = node.engine
    if engine is None:
        return "not known"
    if engine.running:
        compose = f", compose {engine.compose}" if engine.compose else ", no compose plugin"
        return f"{engine.command[-1]} {engine.version or ''}".strip() + compose
    return "none" if engine.version is None and engine.running is False else "does not answer this user"


def _memlock(node: NodeFacts) -> str:
    limit = node.memlock.effective if node.memlock else None
    if limit is None:
        return "not known"
    return "unlimited" if limit == -1 else f"{limit >> 10} KiB"


def _disk(node: NodeFacts) -> str:
    where = node.workdir
    # Not how much is free: that differs from one minute to the next, and makes alike nodes differ.
    return f"{where.path} on {where.filesystem or 'an unknown file system'}"


# The files


def files(templates: Mapping[str, str], result: Discovered, about: Mapping[str, Any]) -> dict[str, str]:
    """Fill the templates, by the name of the file; about has values of the request."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    # JSON is YAML too, and a host's text stays a string in it.
    environment.filters["quoted"] = json.dumps
    environment.filters["line"] = clean
    context = {
        "about": about,
        "hosts": result.hosts,
        "table": table(HEADERS, result.rows, COMMENT_WIDTH),
        "choices": result.choices,
    }
    return {name: environment.from_string(text).render(context) for name, text in templates.items()}


def same(before: str, wanted: str) -> bool:
    """Return whether a file's text is the wanted one, in which ANY stands for whatever a line says there."""
    return re.fullmatch("[^\n]*".join(map(re.escape, wanted.split(ANY))), before) is not None
