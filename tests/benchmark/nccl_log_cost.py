# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds and peak memory of judging a large log of NCCL, with its ranks interleaved in one file.

Each rank initializes, prints its graph, rings and trees, and connects rings, trees and all pairs, communicator after
communicator, until the log is as large as it has to be.

usage: python tests/benchmark/nccl_log_cost.py [--ranks N] [--mib N] [--prefix ""|torchrun|muster]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._nccl_log.read import read_nccl_log
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import NcclExpectation, judge

LOCAL, CHANNELS, NICS = 8, 16, 8
HCAS = [f"mlx5_{number}" for number in range(NICS)]
# Lines of a rank that are written one after the other before those of the next rank.
TURN = 40
PREFIXES = {"": "", "torchrun": "[default{local}]:", "muster": "2026-11-20T14:30:{second:02d}.123Z "}


def initialization(rank: int, ranks: int) -> Iterator[str]:
    yield f"Bootstrap: Using eth0:10.0.{rank // LOCAL % 256}.{rank // LOCAL // 256}<0>"
    opened = " ".join(f"[{number}]{name}:1/IB" for number, name in enumerate(HCAS))
    yield f"NET/IB : Using {opened} [RO]; OOB eth0:10.0.0.1<0>"
    yield "Using network IB"
    comm = f"comm 0x55aa{rank:04x} rank {rank} nranks {ranks} cudaDev {rank % LOCAL} nvmlDev {rank % LOCAL}"
    yield f"ncclCommInitRankConfig {comm} busId {rank % LOCAL:x}b000 commId 0x1 - Init START"
    for variable in ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_IB_TIMEOUT", "NCCL_DEBUG"):
        yield f"{variable} set by environment to value."
    for number in range(60):
        yield f"{' ' * 14}+ PCI[48.0] - GPU/{number % LOCAL}-{number:x}000 ({number})"
    for channel in range(CHANNELS):
        yield f"Channel {channel:02d}/{CHANNELS} : " + " ".join(f"{number:4d}" for number in range(64))
    yield "Trees " + " ".join(f"[{channel}] {rank + 1}/-1/-1->{rank}->{rank - 1}" for channel in range(CHANNELS))
    yield f"{CHANNELS} coll channels, 0 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer"
    yield f"ncclCommInitRankConfig {comm} busId {rank % LOCAL:x}b000 commId 0x1 - Init COMPLETE"


def connections(rank: int, ranks: int) -> Iterator[str]:
    def edge(channel: int, source: int, target: int) -> str:
        ends = f"{source}[{source % LOCAL}] -> {target}[{target % LOCAL}]"
        if source // LOCAL == target // LOCAL:
            return f"Channel {channel:02d}/0 : {ends} via P2P/CUMEM"
        way = "send" if source == rank else "receive"
        return f"Channel {channel:02d}/0 : {ends} [{way}] via NET/IB/{rank % NICS}/GDRDMA"

    for step, channel in itertools.product((1, 2, 4, LOCAL), range(CHANNELS)):
        yield edge(channel, rank, (rank + step) % ranks)
        yield edge(channel, (rank - step) % ranks, rank)
    yield "Connected all rings, use ring PXN 0 GDR 1"
    yield "Connected all trees"
    for peer in range(ranks):
        if peer != rank:
            for channel in range(2):
                yield edge(channel, rank, peer)
                yield edge(channel, peer, rank)


def lines(rank: int, ranks: int) -> Iterator[str]:
    while True:
        yield from initialization(rank, ranks)
        yield from connections(rank, ranks)


def write(path: str, ranks: int, size: int, prefix: str) -> int:
    """Write the log and return the number of its lines."""
    written = count = 0
    sources = [lines(rank, ranks) for rank in range(ranks)]
    heads = [
        f"gpu{rank // LOCAL:03d}:{10000 + rank}:{20000 + rank} [{rank % LOCAL}] NCCL INFO " for rank in range(ranks)
    ]
    with open(path, "w", encoding="utf-8") as stream:
        while written < size:
            for rank, source in enumerate(sources):
                front = PREFIXES[prefix].format(local=rank % LOCAL, second=count // 100000 % 60) + heads[rank]
                block = "".join(f"{front}{line}\n" for line in itertools.islice(source, TURN))
                stream.write(block)
                written, count = written + len(block), count + TURN
    return count


def measure(path: str) -> None:
    """Judge the log in this process and print what it took."""
    before = time.monotonic(), time.process_time()
    log = read_nccl_log(Host(), [path], 1 << 40, None, print)
    verdict = judge(log, NcclExpectation("rdma", True, HCAS, [rank.rank or 0 for rank in log.ranks]))
    seconds, cpu = time.monotonic() - before[0], time.process_time() - before[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    edges = sum(item.count for rank in log.ranks for item in rank.net)
    print(
        f"{log.bytes_read / 1e9:.2f} GB, {len(log.ranks)} ranks, {edges} connections over a network: {verdict.verdict} "
        f"({verdict.transport}) after {seconds:.1f} s, {cpu:.1f} s of CPU; peak memory {peak:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--prefix", choices=PREFIXES, default="")
    parser.add_argument("--read")
    args = parser.parse_args()
    if args.read:
        measure(args.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "nccl.log"))
        count = write(path, args.ranks, args.mib << 20, args.prefix)
        print(f"{count} lines{f' with the prefix of {args.prefix}' if args.prefix else ''}", flush=True)
        subprocess.run([sys.executable, __file__, "--read", path], check=True)


if __name__ == "__main__":
    main()
