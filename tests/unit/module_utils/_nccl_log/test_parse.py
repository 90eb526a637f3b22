# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks, files, interleaved ranks and limits of what is kept of a log."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._nccl_log import parse, rank
from ansible_collections.muster.train.plugins.module_utils._nccl_log.edges import Transport, parse_transport
from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import MOST_RANKS, NcclLogParser
from ansible_collections.muster.train.tests.support.nccl_logs import GDR, GOOD, choice, edges, log_of, says


def feed(data: bytes, size: int) -> NcclLogParser:
    parser = NcclLogParser()
    for start in range(0, len(data), size):
        parser.feed(data[start : start + size])
    parser.end_file()
    return parser


def test_blocks_may_end_anywhere() -> None:
    data = "".join(f"{line}\n" for part in GOOD for line in part).encode()
    whole = feed(data, len(data)).record()
    for size in (1, 7, 100, 1000):
        assert feed(data, size).record() == whole
    assert feed(data[:-1], 100).record().ranks == whole.ranks


def test_transports() -> None:
    assert {text: parse_transport(text) for text in TRANSPORTS} == TRANSPORTS


TRANSPORTS = {
    "NET/AWS Libfabric/0": Transport("NET/AWS Libfabric", "AWS Libfabric"),
    "NET/IB/0(3)/GDRDMA": Transport("NET/IB", "IB", 0, True, True),
    "NET/IB/12/GDRDMA(PCI)/Shared comm 0x55 nRanks 16": Transport("NET/IB", "IB", 12, True),
    "NET/IB/2/Shared": Transport("NET/IB", "IB", 2),
    "P2P/IPC/read": Transport("P2P/IPC/read"),
    "P2P/indirect/4[c7000]": Transport("P2P/indirect"),
    "P2P/direct pointer": Transport("P2P/direct pointer"),
    "direct shared memory": Transport("direct shared memory"),
    "SHM/direct/direct\r": Transport("SHM/direct/direct"),
    "\x1b[31mP2P/CUMEM": Transport("P2P/CUMEM"),
    "": Transport(""),
}


def test_interleaved_ranks_are_kept_apart() -> None:
    mixed = [line for pair in zip(edges(0, GDR, 8), edges(1, "NET/Socket/{}", 8)) for line in pair]
    log = log_of(choice(0), choice(1), mixed)
    assert [(rank.rank, rank.net[0].network, rank.net[0].count, rank.channels_used) for rank in log.ranks] == [
        (0, "IB", 8, 8),
        (1, "Socket", 8, 8),
    ]


def test_prefixes_do_not_make_a_rank_two() -> None:
    fronts = ("", "[rank0]: ", "[default0]:", "2026-11-20T14:30:52.123Z ", "[2026-11-20 14:30:52] ", "| pod-0 | ")
    lines = [f"{front}{line}" for front in fronts for line in edges(0, GDR, 1)]
    [only] = log_of(lines).ranks
    assert (only.rank, only.net[0].count) == (0, len(fronts))


def test_a_bar_of_progress_does_not_make_ranks_one() -> None:
    for progress in ("\r 10%|##|" * 60, "\r 10%|##   | 1/10 [00:01<00:09, 1.0s/it]" * 40, f"{'x' * 900} "):
        lines = [f"{progress}{line}" for rank in (0, 1) for line in edges(rank, GDR, 1)]
        assert [(rank.host, rank.pid, rank.rank) for rank in log_of(lines).ranks] == [
            ("n0", "100", 0),
            ("n0", "101", 1),
        ]


def test_what_precedes_a_connection_may_be_anything() -> None:
    way = "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"
    for front in ("2026-11-20T14:30:52.123Z ", f"{'x' * 900}:1:2 ", ""):
        [only] = log_of([f"{front}[0] {way}"]).ranks
        assert only.net[0].count == 1


VIRTUAL = "NET/IB : Made virtual device [{0}] name={1} speed=400000 ndevs={2}"
TWO = "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [1]={[0] mlx5_2:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>"


def test_a_device_is_merged_if_it_has_several_ports() -> None:
    plain = says(0, *(VIRTUAL.format(number, f"mlx5_{number}", 1) for number in range(2)))
    merged = says(0, VIRTUAL.format(0, "mlx5_0+mlx5_1", 2))
    assert [log_of(choice(0), lines).ranks[0].merged_nics for lines in (plain, merged)] == [False, True]


def test_a_list_of_merged_devices_has_their_ports() -> None:
    for text, is_merged in ((TWO, True), (TWO.replace(", [1] mlx5_1:1/RoCE", ""), False)):
        [rank] = log_of(says(0, text)).ranks
        names = [name for name in ("mlx5_0", "mlx5_1", "mlx5_2") if name in text]
        assert ([hca.name for hca in rank.hcas], rank.merged_nics) == (names, is_merged)
        assert {hca.link for hca in rank.hcas} == {"RoCE"}


def test_texts_of_errors() -> None:
    texts = ("No such device or address", "No such device", "Bad address", "Connection refused, retrying", "odd")
    lines = [f"n0:1:2 [0] x.cc:1 NCCL WARN Call to ibv_a{n} failed with error {text}" for n, text in enumerate(texts)]
    assert [error.errno for error in log_of(lines).ranks[0].errors] == [6, 19, 14, 111, None]


def test_the_events_of_devices() -> None:
    texts = ("async fatal event: port error", "Got async error event: port error", "Got async event : port error")
    lines = [f"n0:1:2 [0] x.cc:1 NCCL WARN NET/IB : mlx5_{n}:1 {text}" for n, text in enumerate(texts)]
    errors = log_of(lines).ranks[0].errors
    assert [(error.kind, error.device, error.event) for error in errors] == [
        ("event", f"mlx5_{n}:1", "port error") for n in range(len(texts))
    ]


def test_a_rank_without_a_host_is_one_of_its_file() -> None:
    parser = NcclLogParser()
    for name in ("mlx5_0", "mlx5_1"):
        parser.feed(f"NCCL INFO NET/IB : Using [0]{name}:1/IB\nNCCL version 2.19.3+cuda12.3\n".encode())
        parser.end_file()
    ranks = parser.record().ranks
    assert [(rank.hcas[0].name, rank.version) for rank in ranks] == [(f"mlx5_{n}", "2.19.3+cuda12.3") for n in (0, 1)]


def test_the_rank_is_that_of_the_largest_communicator() -> None:
    comm = "n0:1:2 [0] NCCL INFO comm 0x1 rank {} nranks {} cudaDev 0 busId b000 - Init COMPLETE"
    [only] = log_of([comm.format(1, 2), comm.format(9, 16), comm.format(0, 4)]).ranks
    assert (only.rank, only.nranks) == (9, 16)


def test_what_is_kept_is_bounded() -> None:
    lines = [
        *(f"n0:{number}:1 [0] NCCL INFO NET/IB : Using {'m' * 300}" for number in range(MOST_RANKS + 5)),
        *(f"n0:1:1 [0] NCCL INFO NCCL_X{number} set by environment to 1." for number in range(500)),
        *(
            f"n0:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 2[0] via NEW{chr(65 + n % 26)}{chr(65 + n // 26)}"
            for n in range(500)
        ),
        *(f"n0:1:1 [0] x.cc:1 NCCL WARN Call to ibv_a failed with {number} x" for number in range(50)),
    ]
    log = log_of(lines)
    [busy] = [rank for rank in log.ranks if rank.pid == "1"]
    assert (len(log.ranks), log.complete) == (MOST_RANKS, False)
    assert {len(busy.env), len(busy.local)} == {rank.MOST_ENTRIES}
    assert (len(busy.errors), busy.warnings) == (rank.MOST_ERRORS, 50)
    assert len(busy.choice_line or "") == rank.LONGEST_TEXT


def test_a_line_without_an_end_is_dropped() -> None:
    parser = NcclLogParser()
    parser.feed(b"x" * (parse.LONGEST_LINE + 1))
    parser.feed(b"\nn0:1:1 [0] NCCL INFO Using network IB\n")
    parser.end_file()
    log = parser.record()
    assert (len(log.ranks), log.complete) == (1, False)


def test_more_peers_than_a_node_has_ranks() -> None:
    lines = [
        f"n0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> {peer}[0] [send] via NET/IB/0/GDRDMA" for peer in range(1, 600)
    ]
    for size in (1000, 10_000_000):
        [only] = feed("\n".join(lines).encode(), size).record().ranks
        assert (only.net[0].count, only.net[0].outside) == (599, True)
    inside = NcclLogParser()
    inside.feed("\n".join(lines[:200]).encode())
    inside.end_file()
    [net] = inside.record(list(range(300))).ranks[0].net
    assert (net.count, net.outside) == (200, False)


def test_a_hostile_log_of_countless_ranks_is_read() -> None:
    lines = [
        f"n{number}:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"
        for number in range(2 * MOST_RANKS)
    ]
    log = feed("\n".join(lines).encode(), 1 << 20).record()
    assert (len(log.ranks), log.complete) == (MOST_RANKS, False)
