# SPDX-License-Identifier: GPL-3.0-or-later
"""Time one collective over a range of sizes and check its results: what the ranks of `benchmark` run.

Placed beside the runner on the node and run by the training interpreter as any other script of a launch. Sizes, counts
and the average over ranks are those of nccl-tests; bandwidths are computed from the times on the controller.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Elements that are filled or checked at a time: their indexes take eight bytes each.
BLOCK = 1 << 22
# Values are from 1 to this prime, which every type holds exactly. One rank alone contributes to an element of a sum, so
# that sums are exact whatever the number of ranks and the order of additions.
VALUES, SHIFT = 127, 31
DIVIDED = ("all_gather", "reduce_scatter", "all_to_all")
REDUCING = ("all_reduce", "reduce_scatter")
RESULT = "benchmark.json"


def groups_of(scope: str, world_size: int, per_node: int) -> list[list[int]]:
    """Return the ranks of each group that runs the collective, all groups at the same time."""
    if scope == "rails":
        return [list(range(rail, world_size, per_node)) for rail in range(per_node)]
    if scope == "nodes":
        return [list(range(first, first + per_node)) for first in range(0, world_size, per_node)]
    return [list(range(world_size))]


def count_of(collective: str, size: int, item: int, ranks: int) -> int:
    """Return nccl-tests' count of elements for a size in bytes: of one rank's part where the size is divided."""
    elements = size // item
    return max(1, elements // ranks if collective in DIVIDED else elements)


def counts_of(collective: str, sizes: Sequence[int], item: int, ranks: int) -> list[int]:
    """Return the count of each size, one of several that are the same: small ones are rounded up to one element."""
    return list(dict.fromkeys(count_of(collective, size, item, ranks) for size in sizes))


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least this part of all values does not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def newest(module: Any, *names: str) -> Any:
    """Return the first of these that there is: a function under the name that it has since some version, and before."""
    return next(getattr(module, name) for name in names if hasattr(module, name))


class GroupCollective:
    """One collective in one rank's group; what is sent and received are buffers for the largest size."""

    def __init__(self, torch: Any, name: str, group: Any, ranks: Sequence[int], rank: int) -> None:
        self.torch, self.name, self.group, self.ranks = torch, name, group, ranks
        self.place = ranks.index(rank)
        self.sent: Any = None
        self.received: Any = None

    def lengths(self, count: int) -> tuple[int, int]:
        """Return how many elements are sent and received for a count."""
        total = count * len(self.ranks) if self.name in DIVIDED else count
        return count if self.name == "all_gather" else total, count if self.name == "reduce_scatter" else total

    def allocate(self, count: int, dtype: Any, device: str) -> None:
        """Make the buffers; all_reduce and broadcast have one for both."""
        sent, received = self.lengths(count)
        self.sent = self.torch.zeros(sent, dtype=dtype, device=device)
        is_in_place = self.name in ("all_reduce", "broadcast")
        self.received = self.sent if is_in_place else self.torch.zeros(received, dtype=dtype, device=device)

    def operation(self, count: int) -> Callable[[], Any]:
        """Return what runs the collective once."""
        dist, group, ranks, place = self.torch.distributed, self.group, self.ranks, self.place
        lengths = self.lengths(count)
        sent, received = self.sent[: lengths[0]], self.received[: lengths[1]]
        # Newer names since torch 2.13.
        all_gather = newest(dist, "all_gather_single", "all_gather_into_tensor")
        reduce_scatter = newest(dist, "reduce_scatter_single", "reduce_scatter_tensor")

        def exchange() -> None:
            after, before = ranks[(place + 1) % len(ranks)], ranks[place - 1]
            pair = [dist.P2POp(dist.isend, sent, after, group), dist.P2POp(dist.irecv, received, before, group)]
            for work in dist.batch_isend_irecv(pair):
                work.wait()

        return {
            "all_reduce": lambda: dist.all_reduce(received, group=group),
            "all_gather": lambda: all_gather(received, sent, group=group),
            "reduce_scatter": lambda: reduce_scatter(received, sent, group=group),
            "broadcast": lambda: dist.broadcast(received, ranks[0], group=group),
            "all_to_all": lambda: dist.all_to_all_single(received, sent, group=group),
            "send_recv": exchange,
        }[self.name]

    def fill(self, count: int) -> None:
        """Put this rank's values into what is sent, and zeros into what is received."""
        sent, received = self.lengths(count)
        self.received[:received].zero_()
        for index, block in self._blocks(self.sent, sent):
            if self.name in REDUCING:
                block.copy_(self._value(index, 0) * (index % len(self.ranks) == self.place))
            elif self.name != "broadcast" or self.place == 0:
                block.copy_(self._value(index, self.place))

    def count_wrong(self, count: int) -> int:
        """Return how many of the received elements are not what was sent."""
        blocks = self._blocks(self.received, self.lengths(count)[1])
        return sum(
            int((block != self._value(*self._source(index, count)).to(block.dtype)).sum()) for index, block in blocks
        )

    def _source(self, index: Any, count: int) -> tuple[Any, Any]:
        """Return where received elements come from: the index there, and the place of the rank in the group."""
        if self.name == "all_gather":
            return index % count, index // count
        if self.name == "all_to_all":
            return self.place * count + index % count, index // count
        if self.name == "reduce_scatter":
            return self.place * count + index, 0
        return index, (self.place - 1) % len(self.ranks) if self.name == "send_recv" else 0

    def _blocks(self, buffer: Any, length: int) -> Iterator[tuple[Any, Any]]:
        for first in range(0, length, BLOCK):
            last = min(first + BLOCK, length)
            yield self.torch.arange(first, last, device=buffer.device), buffer[first:last]

    @staticmethod
    def _value(index: Any, place: Any) -> Any:
        return (index + place * SHIFT) % VALUES + 1


class IterationClock:
    """Seconds of each run of an operation, on a GPU by its own clock: there the host only queues the work."""

    def __init__(self, torch: Any, is_gpu: bool) -> None:
        self._cuda = torch.cuda if is_gpu else None

    def wait(self) -> None:
        """Wait until all that was queued has been done."""
        if self._cuda:
            self._cuda.synchronize()

    def time(self, operation: Callable[[], Any], iterations: int) -> list[float]:
        """Run an operation so many times, one right after the other."""
        marks = [self._mark()]
        for _iteration in range(iterations):
            operation()
            marks.append(self._mark())
        self.wait()
        if self._cuda:
            return [before.elapsed_time(after) / 1e3 for before, after in zip(marks, marks[1:])]
        return [after - before for before, after in zip(marks, marks[1:])]

    def _mark(self) -> Any:
        if not self._cuda:
            return time.perf_counter()
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event


def measure(collective: GroupCollective, count: int, options: argparse.Namespace, clock: IterationClock) -> list[float]:
    """Return mean, p50, p99, least and greatest seconds of a run, averaged over the ranks, and the wrong elements.

    These are -1 for each rank where nothing was checked.
    """
    torch, dist, run, wrong = collective.torch, collective.torch.distributed, collective.operation(count), -1
    device = collective.received.device
    if options.check:
        collective.fill(count)
        run()
        clock.wait()
        wrong = collective.count_wrong(count)
    collective.received[: collective.lengths(count)[1]].zero_()  # sums of sums would not end
    for _call in range(options.warmup):
        run()
    clock.wait()
    dist.all_reduce(torch.zeros(1, device=device), group=collective.group)  # a barrier
    clock.wait()
    times = torch.tensor([*clock.time(run, options.iterations), float(wrong)], dtype=torch.float64, device=device)
    dist.all_reduce(times, group=collective.group)
    *total, wrong_elements = times.tolist()
    ordered = sorted(seconds / len(collective.ranks) for seconds in total)
    mean = sum(ordered) / len(ordered)
    return [mean, percentile(ordered, 50), percentile(ordered, 99), ordered[0], ordered[-1], wrong_elements]


def gather(torch: Any, row: Sequence[float], groups: Sequence[Sequence[int]], device: Any) -> list[list[float]]:
    """Return the row of each group, as its first rank has it."""
    mine = torch.tensor(row, dtype=torch.float64, device=device)
    rows = [torch.empty_like(mine) for _rank in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(rows, mine)
    return [rows[ranks[0]].tolist() for ranks in groups]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments, which the plan has made."""
    parser = argparse.ArgumentParser()
    for name in ("collective", "scope", "backend", "dtype", "output"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("warmup", "iterations", "check"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("sizes", type=int, nargs="+")
    return parser.parse_args(argv)


def run(torch: Any, options: argparse.Namespace, device: str) -> None:
    """Run all sizes in the process group of this process; rank 0 writes what is known after each."""
    dist, clock = torch.distributed, IterationClock(torch, options.backend == "nccl")
    rank, dtype = dist.get_rank(), getattr(torch, options.dtype)
    groups = groups_of(options.scope, dist.get_world_size(), int(os.environ["LOCAL_WORLD_SIZE"]))
    # Every rank takes part in making each group. One of all ranks is there already.
    handles = [dist.new_group(ranks) for ranks in groups] if len(groups) > 1 else [dist.group.WORLD]
    mine = next(number for number, ranks in enumerate(groups) if rank in ranks)
    collective = GroupCollective(torch, options.collective, handles[mine], groups[mine], rank)
    counts = counts_of(options.collective, options.sizes, dtype.itemsize, len(groups[mine]))
    collective.allocate(max(counts), dtype, device)
    library = ".".join(map(str, torch.cuda.nccl.version())) if options.backend == "nccl" else None
    result: dict[str, Any] = {"groups": groups, "torch": torch.__version__, "library": library, "rows": []}
    for step, count in enumerate(counts, 1):
        rows = gather(torch, measure(collective, count, options, clock), groups, device)
        size = dtype.itemsize * count * (len(groups[mine]) if options.collective in DIVIDED else 1)
        result["rows"].append({"bytes": size, "count": count, "groups": rows})
        if rank == 0:
            sys.stdout.write(f"size {step} of {len(counts)}: {size} bytes, {rows[0][0] * 1e6:.1f} us\n")
            sys.stdout.flush()
            write(os.path.join(options.output, RESULT), result)


def main(argv: Sequence[str]) -> int:
    """Run the collective in a process group of all ranks."""
    options = parse(argv)
    torch: Any = importlib.import_module("torch")
    dist: Any = importlib.import_module("torch.distributed")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = "cpu"
    if options.backend == "nccl":
        torch.cuda.set_device(local_rank)
        device = f"cuda:{local_rank}"
    dist.init_process_group(options.backend)
    run(torch, options, device)
    dist.destroy_process_group()
    return 0


def write(path: str, result: dict[str, Any]) -> None:
    """Write the result as a whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w", encoding="utf-8") as stream:
        json.dump(result, stream)
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
