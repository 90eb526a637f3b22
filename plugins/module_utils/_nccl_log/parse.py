# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of NCCL or RCCL, block by block: of any ranks and hosts, in any order, with whatever else is in the files."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable

from .._records.nccl_log import NcclLog, NcclTopology
from .edges import EDGE, GROUPS, STAMP, Transport, parse_edge, parse_way
from .errors import is_cut, parse_warning
from .messages import read_topology, reader_of, version_of
from .rank import MOST_ENTRIES, RankState

MOST_RANKS, MOST_HEADS, MOST_PEERS, MOST_KINDS = 4096, 65536, 200_000, 65536
# A line of the graph of thousands of ranks has some ten thousand characters.
LONGEST_LINE = 1 << 20
LONGEST_MESSAGE, LONGEST_HEAD = 4096, 512
_INFO, _WARN = b"NCCL INFO ", b"NCCL WARN "

_PROCESS = re.compile(r"([^\s:\[\]|]{0,255}):(\w{1,20})(?::\w{1,20})? \[(\d{1,6})\]", re.ASCII)
# What a launcher puts in front of a rank's lines; torchrun's number is that of the rank on its node.
_LAUNCHER = re.compile(r"\[([A-Za-z_]{1,40})(\d{1,9})\]:", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", re.ASCII)


class NcclLogParser:
    """Takes the blocks of a file, then end_file, then the next file; record has what all of them show."""

    def __init__(self) -> None:
        self._ranks: dict[tuple[str, str, str], RankState] = {}
        self._too_many = RankState("", "", None, None)  # gets what is logged by more ranks than are kept
        # Of this file: what is in front of its lines, and whose those are.
        self._heads: dict[bytes, RankState] = {}
        self._states: set[RankState] = set()
        # Who is connected to whom, until it is too much to be kept so.
        self._peers: set[tuple[RankState, int, bytes]] = set()
        # Transports are numbers, which are hashed fast. In RCCL's logs they have addresses, and are without end.
        self._ways: dict[bytes, int] = {}
        self._kinds: list[Transport] = []
        self._rest = b""
        self._version: dict[str, str] = {}  # of this file, by a line that nothing precedes
        self._cut: tuple[RankState, str, str | None] | None = None  # a warning that the next line may end
        self._gpus: dict[str, None] = {}
        self._nets: dict[str, float] = {}
        self._slow_pci: dict[str, float] = {}
        self._files = self._bytes = 0
        self._complete = True

    def feed(self, block: bytes) -> None:
        """Take the next bytes of the file."""
        self._bytes += len(block)
        data = self._rest + block
        end = data.rfind(b"\n")
        self._rest = data[end + 1 :]
        if len(self._rest) > LONGEST_LINE:
            self._rest, self._complete = b"", False
        if end >= 0:
            self._read(b"\n" + data[:end])

    def end_file(self, complete: bool = True) -> None:
        """Take what was fed as the whole file, or as a part of it."""
        if self._rest:
            self._read(b"\n" + self._rest)
        self._end_warning(None)
        self._end_peers()
        for state in self._states:
            if "version" not in state.facts:
                state.note(**self._version)
        self._rest, self._heads, self._states, self._version = b"", {}, set(), {}
        self._files += 1
        self._complete = self._complete and complete

    def end_part(self) -> None:
        """Drop a line that was not fed to its end: what is fed next is from further down in the file."""
        self._rest, self._complete = b"", False

    def record(self, local_ranks: list[int] | None = None) -> NcclLog:
        """Return what was read; local_ranks: those of the node, by default those that its host has in the logs."""
        self._end_peers()
        hosts: dict[str, set[int]] = {}
        for state in self._ranks.values():
            if state.host and state.rank is not None:
                hosts.setdefault(state.host, set()).add(state.rank)
        given = set(local_ranks or ())
        # Of a host that has none of the given ranks, as where all nodes log to one directory, those that it has.
        local = {host: given if given & numbers else numbers for host, numbers in hosts.items()}
        ranks = [state.record(local.get(state.host, given)) for state in self._ranks.values()]
        ranks.sort(key=lambda rank: (rank.rank is None, rank.rank or 0, rank.host or "", rank.device or 0))
        topology = NcclTopology(list(self._gpus)[:MOST_ENTRIES], _first(self._nets), _first(self._slow_pci))
        return NcclLog(ranks, topology, self._files, self._bytes, self._complete)

    def _read(self, text: bytes) -> None:
        """Read whole lines; each begins with a newline."""
        if len(self._heads) > MOST_HEADS:
            self._heads = {}
        parts = EDGE.split(text)
        if len(parts) > 1:
            self._read_edges(text, parts[1::GROUPS], parts[2::GROUPS], parts[3::GROUPS], parts[4::GROUPS])
        for line in b"\n".join(filter(None, parts[0::GROUPS])).split(b"\n"):
            if line:
                self._read_line(line)

    def _read_edges(
        self, text: bytes, heads: list[bytes], channels: list[bytes], peers: list[bytes], ways: list[bytes]
    ) -> None:
        """Count connections; nothing is done line by line in Python, which of a large log would take minutes."""
        for head in set(heads).difference(self._heads):
            self._heads[head] = self._state(head)
        for data in set(ways).difference(self._ways):
            self._ways[data] = len(self._kinds)
            self._kinds.append(parse_way(_text(data)))
        states = list(map(self._heads.__getitem__, heads))
        kinds = list(map(self._ways.__getitem__, ways))
        counts = Counter(zip(states, kinds)).items()
        firsts = {pair for pair, count in counts if pair[0].add_edges(self._kinds[pair[1]], count)}
        if firsts:
            _show_edges(text, firsts, zip(states, kinds, heads, channels, ways))
        here = set(states)
        for state, kind, channel in set(zip(states, kinds, channels)):
            state.add_channel(self._kinds[kind], int(channel))
        if not all(state.has_many_peers for state in here):
            self._peers.update(zip(states, kinds, peers))
            if len(self._peers) > MOST_PEERS:
                self._end_peers()
        if len(self._kinds) > MOST_KINDS:
            self._end_peers()
            self._ways, self._kinds = {}, []

    def _end_peers(self) -> None:
        """Give each rank its peers."""
        for state, kind, peer in self._peers:
            state.add_peer(self._kinds[kind], int(peer))
        self._peers = set()

    def _read_line(self, line: bytes) -> None:
        at, warns = line.find(_INFO), False
        if at < 0:
            at = line.find(_WARN)
            warns = at >= 0
        if at < 0:
            if self._cut or b"version" in line:
                self._read_other(_text(line))
            return
        self._end_warning(None)
        if warns:
            self._read_warning(self._state(line[:at]), _text(line).rstrip())
            return
        # Most messages are none that is read.
        words = line[at + len(_INFO) : at + len(_INFO) + 64].split(None, 1)
        word = words[0] if words else b""
        reader = _reader_of(word)
        if reader:
            reader(self._state(line[:at]), _text(line[at + len(_INFO) :]).strip())
        elif word == b"+" or word.startswith(b"GPU/"):
            read_topology(self._gpus, self._nets, self._slow_pci, _text(line[at + len(_INFO) :]))

    def _read_warning(self, state: RankState, line: str) -> None:
        time = _TIME.search(line.partition("NCCL WARN ")[0])
        self._cut = state, line, time[0] if time else None
        if not is_cut(line):
            self._end_warning(None)

    def _read_other(self, line: str) -> None:
        """Read a line that is not NCCL's, or the second half of one, or the version, which is printed alone."""
        self._end_warning(line)
        for name, value in version_of(line).items():
            # RCCL names HIP's version in a line of its own.
            self._version.setdefault(name, value)

    def _end_warning(self, rest: str | None) -> None:
        if self._cut:
            (state, line, time), self._cut = self._cut, None
            line = f"{line} {rest}" if rest else line
            state.add_error(parse_warning(line.partition("NCCL WARN ")[2], line, time))

    def _state(self, head: bytes) -> RankState:
        """Return the rank that a line is of, by what is in front of its message."""
        match = STAMP.match(head)
        # The process is at its end; in front of it there may be a bar of progress, which ends no line.
        head = (head[match.end() :] if match else head)[-LONGEST_HEAD:]
        state = self._heads.get(head)
        if state is None:
            state = self._heads[head] = self._find(head.decode("utf-8", "replace"))
            self._states.add(state)
        return state

    def _find(self, head: str) -> RankState:
        processes, launcher = list(_PROCESS.finditer(head)), _LAUNCHER.search(head)
        host, pid, device = processes[-1].groups() if processes else ("", launcher[0] if launcher else "", "")
        # Without a host's name, processes of two files are two.
        key = (host or f"#{self._files}", pid, device)
        state = self._ranks.get(key)
        if state is None:
            rank = int(launcher[2]) if launcher and launcher[1] == "rank" else None
            if len(self._ranks) >= MOST_RANKS:
                self._complete = False
                return self._too_many
            state = self._ranks[key] = RankState(host, pid, int(device) if device else None, rank)
        return state


@functools.lru_cache(maxsize=4096)
def _reader_of(word: bytes) -> Callable[[RankState, str], None] | None:
    return reader_of(word.decode("utf-8", "replace"))


def _text(data: bytes) -> str:
    return data[:LONGEST_MESSAGE].decode("utf-8", "replace")


def _show_edges(
    text: bytes,
    firsts: set[tuple[RankState, int]],
    edges: Iterable[tuple[RankState, int, bytes, bytes, bytes]],
) -> None:
    """Keep one line of each kind of connection that a rank had not had before."""
    for state, kind, head, channel, way in edges:
        if (state, kind) in firsts:
            firsts.discard((state, kind))
            begin, line = re.compile(re.escape(head) + rb" NCCL INFO \w+ " + channel + rb"\b"), b""
            for match in begin.finditer(text):
                line = text[match.start() : match.start() + LONGEST_MESSAGE].partition(b"\n")[0]
                if line.endswith(b" " + way):
                    break
            shown = line.decode("utf-8", "replace")
            edge = parse_edge(shown.partition(" NCCL INFO ")[2])
            if edge:
                state.show_edge(edge, shown)
            if not firsts:
                return


def _first(table: dict[str, float]) -> dict[str, float]:
    return dict(list(table.items())[:MOST_ENTRIES])
