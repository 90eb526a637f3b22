# SPDX-License-Identifier: GPL-3.0-or-later
"""What is gathered of one rank while its log is read, in a bounded size."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from .._records.nccl_log import LogAddress, NcclError, NetEdges, OpenedHca, RankLog
from .._text.printable import clean
from .edges import Edge, Transport
from .errors import LONGEST_LINE

# Limits for one rank: more than any log of NCCL has that is one.
MOST_ENTRIES, MOST_ERRORS, LONGEST_TEXT = 64, 8, 200
# More than a node has ranks: a rank with so many peers has some on other nodes.
MOST_PEERS = 256


def short(text: object) -> str:
    """Return a text of a log as one printable line of a bounded length."""
    return clean(text).strip()[:LONGEST_TEXT]


class RankState:
    """One process and GPU of a log. facts: fields of RankLog that lines set."""

    def __init__(self, host: str, pid: str, device: int | None, launcher_rank: int | None) -> None:
        self.facts: dict[str, Any] = {"host": host or None, "pid": pid or None, "device": device}
        self.host, self._launcher_rank = host, launcher_rank
        self._comms: dict[int, int] = {}  # this rank's number by the size of the communicator
        self._has_several = False  # whether communicators of one size differ in its number or in their nodes
        self._most_nodes: int | None = None
        self._edge_rank: int | None = None
        self._nets: dict[tuple[str, bool], dict[str, Any]] = {}
        self._local: dict[str, int] = {}
        self._errors: dict[NcclError, list[Any]] = {}  # the first and how many are alike
        self._warnings = 0
        self.channels_used = 0
        self._version_at_least = (0, 0)

    # Gathering

    def note(self, **facts: Any) -> None:
        self.facts.update(facts)

    def put(self, name: str, key: Any, value: Any) -> None:
        """Add an entry to one of the tables."""
        table = self.facts.setdefault(name, {})
        if key in table or len(table) < MOST_ENTRIES:
            table[key] = value

    def add_comm(self, rank: int, nranks: int) -> None:
        if nranks in self._comms or len(self._comms) < MOST_ENTRIES:
            self._has_several |= self._comms.setdefault(nranks, rank) != rank

    def add_nodes(self, nnodes: int, share_nvlink: bool) -> None:
        """Note the size of a communicator in nodes; those that share their NVLink are one."""
        self._has_several |= self._most_nodes not in (None, nnodes)
        self._most_nodes = max(nnodes, self._most_nodes or 0)
        here = 1 if share_nvlink else nnodes
        self.note(nnodes=min(here, self.facts.get("nnodes", here)))

    def add_version(self, major: int, minor: int) -> None:
        """Note that the library is not older than this release."""
        self._version_at_least = max(self._version_at_least, (major, minor))

    def add_channel(self, transport: Transport, channel: int) -> None:
        """Note the channel of connections that were counted."""
        self.channels_used = max(self.channels_used, channel + 1)
        net = self._net_of(transport)
        if net and len(net["channels"]) < MOST_ENTRIES:
            net["channels"].add(channel)

    def add_edges(self, transport: Transport, count: int) -> bool:
        """Count connections; return whether they are the first of their kind, of which one has to be shown."""
        if transport.network is None:
            if transport.name in self._local or len(self._local) < MOST_ENTRIES:
                self._local[transport.name] = self._local.get(transport.name, 0) + count
            return self._edge_rank is None
        kind = transport.network, transport.gdr
        is_first = kind not in self._nets
        if is_first:
            if len(self._nets) >= MOST_ENTRIES:
                return False
            self._nets[kind] = {
                "count": 0,
                "nics": set(),
                "channels": set(),
                "peers": set(),
                "pxn": 0,
                "sent": 0,
                "line": "",
            }
        net = self._nets[kind]
        net["count"] += count
        net["pxn"] += count * transport.pxn
        net["sent"] += count * transport.sends
        if len(net["nics"]) < MOST_ENTRIES:
            net["nics"].add(transport.nic)
        return is_first

    def add_peer(self, transport: Transport, peer: int) -> None:
        """Note one end of a connection, which may be this rank itself."""
        net = self._net_of(transport)
        if net and len(net["peers"]) < MOST_PEERS:
            net["peers"].add(peer)

    def _net_of(self, transport: Transport) -> dict[str, Any] | None:
        return self._nets.get((str(transport.network), transport.gdr))

    @property
    def has_many_peers(self) -> bool:
        """Whether more peers of any of its networks show nothing new."""
        return bool(self._nets) and all(len(net["peers"]) >= MOST_PEERS for net in self._nets.values())

    def show_edge(self, edge: Edge, line: str) -> None:
        """Keep the line of a connection that was counted."""
        if self._edge_rank is None:
            self._edge_rank = edge.rank
        self.add_peer(edge.transport, edge.peer)
        net = self._net_of(edge.transport)
        if net and not net["line"]:
            net["line"] = clean(line).strip()[:LONGEST_LINE]

    def add_error(self, error: NcclError) -> None:
        self._warnings += 1
        alike = dataclasses.replace(error, time=None, line="")
        # Warnings without numbers are one: a library repeats some of them at every step.
        if alike in self._errors or len(self._errors) < MOST_ERRORS:
            self._errors.setdefault(alike, [error, 0])[1] += 1

    # The record

    @property
    def rank(self) -> int | None:
        """The rank in the largest communicator, or by its launcher, or of its connections."""
        if self._comms:
            return self._comms[max(self._comms)]
        return self._edge_rank if self._launcher_rank is None else self._launcher_rank

    def record(self, local_ranks: Collection[int]) -> RankLog:
        """Return what was gathered; local_ranks: those of its node, whose connections do not leave it."""
        facts = dict(self.facts)
        for name, kind in (("hcas", OpenedHca), ("sockets", LogAddress)):
            facts[name] = [kind(key, *value) for key, value in sorted(facts.get(name, {}).items())]
        ambiguous = len(self._comms) > 1 or self._has_several
        # Where rank numbers of several communicators are mixed, none is known to be of this node.
        inside, leaves = {self._edge_rank, *local_ranks}, ambiguous and self._most_nodes != 1
        net = [
            NetEdges(
                *kind,
                shown["count"],
                leaves or not (self._most_nodes == 1 or shown["peers"] <= inside),
                sorted(shown["nics"]),
                shown["pxn"],
                shown["line"],
                sorted(shown["channels"]),
                shown["sent"],
            )
            for kind, shown in sorted(self._nets.items())
        ]
        oldest = ".".join(map(str, self._version_at_least)) if any(self._version_at_least) else None
        facts["version_at_least"] = None if facts.get("version") else oldest
        return RankLog(
            **facts,
            rank=self.rank,
            nranks=max(self._comms, default=None),
            net=net,
            local=self._local,
            channels_used=self.channels_used,
            ambiguous=ambiguous,
            warnings=self._warnings,
            errors=[dataclasses.replace(error, count=count) for error, count in self._errors.values()],
        )
