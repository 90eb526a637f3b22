# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections in a log: nearly all lines of a large one, so that one expression takes them out of a block of it."""

from __future__ import annotations

import re

from .._records.frozen import frozen
from .._text.printable import clean

_STAMP = rb"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]? (?:std(?:out|err) [FP] )?)?"
_HEAD = rb"((?:\[\w{1,50}\]: )?[^ \n]{0,400} \[\d{1,9}\])"  # no longer than what is kept of one
_CHANNEL = rb"(?:Channel|Ring) (\d{1,9})(?:/\d+)? : "
_ENDS = rb"\d{1,9}(?:\[[^\]\n]*\])? -> (\d{1,9})(?:\[[^\]\n]*\])? "
STAMP = re.compile(_STAMP)
# Of a line in a block that begins with a newline: who logged it, the channel, the receiver, and its way, which is the
# direction and the transport with what follows it. Most lines of a large log are such lines, so that all depends on how
# many steps each takes.
EDGE = re.compile(rb"\n" + _STAMP + _HEAD + rb" NCCL INFO " + _CHANNEL + _ENDS + rb"((?:\[\w+\] )?via [^\n]*)")
GROUPS = EDGE.groups + 1  # of a split by it, with what is between two of them
# The same of one message, whatever precedes it.
_MESSAGE = re.compile(
    r"(?:Channel|Ring) (\d{1,9})(?:/\d+)? : "
    r"(\d{1,9})(?:\[[^\]]*\])? -> (\d{1,9})(?:\[[^\]]*\])? (?:\[(send|receive)\] )?via (.+)",
    re.ASCII | re.DOTALL,
)
_COMM = re.compile(r" comm 0x\w+ n[Rr]anks \d+\s*$", re.ASCII)
_NET = re.compile(r"NET/(.+?)/(\d{1,9})(?:\((\d{1,9})\))?((?:/[^/]+)*)", re.ASCII)
_NUMBERS = re.compile(r"\d+(?:\[[^\]]*\])?")
LONGEST_NAME, LONGEST_TRANSPORT = 40, 200


@frozen
class Transport:
    """How two ranks are connected; name is P2P/IPC or the like, network is None inside the node.

    nic: NCCL's number of the network device. pxn: it is that of another rank of the node. sends: the rank that logged
    it is known to be the sender.
    """

    name: str
    network: str | None = None
    nic: int = 0
    gdr: bool = False
    pxn: bool = False
    sends: bool = False


@frozen
class Edge:
    """One connection, as one of its two ranks logged it."""

    channel: int
    rank: int
    peer: int
    transport: Transport


def parse_way(text: str) -> Transport:
    """Return the transport of `[send] via NET/IB/4`."""
    direction, _via, transport = text.partition("via ")
    return parse_transport(transport, direction.startswith("[send]"))


def parse_transport(text: str, sends: bool = False) -> Transport:
    """Return the transport of `NET/IB/4/GDRDMA`, `P2P/CUMEM/read` or `direct shared memory`."""
    text = clean(_COMM.sub("", text)).strip()[:LONGEST_TRANSPORT]
    net = _NET.fullmatch(text)
    if net is None:
        first, *parts = text.split("/")
        return Transport("/".join([first, *filter(None, (_NUMBERS.sub("", part) for part in parts))])[:LONGEST_NAME])
    network = net[1][:LONGEST_NAME]
    gdr = any(flag.startswith("GDRDMA") for flag in net[4].split("/"))
    return Transport(f"NET/{network}", network, int(net[2]), gdr, net[3] is not None, sends)


def parse_edge(message: str) -> Edge | None:
    """Return the connection of `Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/4`; None for any other message."""
    match = _MESSAGE.match(message)
    if match is None:
        return None
    ends = int(match[2]), int(match[3])
    rank, peer = reversed(ends) if match[4] == "receive" else ends
    return Edge(int(match[1]), rank, peer, parse_transport(match[5], match[4] == "send"))
