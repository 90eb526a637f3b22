# SPDX-License-Identifier: GPL-3.0-or-later
"""What two ranks measure with torch: the time of a small message, and the bandwidth while both send."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..._records.frozen import frozen

# How long each of both is measured, and how often at least and at most.
MEASURED_S = 0.5
FEWEST, MOST_MESSAGES, MOST_EXCHANGES = 3, 500, 20
WARMUP = 3
# The round trip that one in ten is quicker than: the path without the waits of a busy processor.
QUICK = 10


@frozen
class Transfer:
    """Half of a quick round trip in seconds, and the bytes per second in each direction."""

    latency_s: float
    bandwidth: float


def measure(torch: Any, backend: str, store: Any, place: int, device: str, size: int, limit_s: float) -> Transfer:
    """Measure with the other rank of a group of two; place is 0 or 1, store the group's own."""
    dist = torch.distributed
    if device != "cpu":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, store=store, rank=place, world_size=2, timeout=timedelta(seconds=limit_s))
    small, sent, received = (torch.zeros(length, dtype=torch.int8, device=device) for length in (1, size, size))
    peer = 1 - place

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    def ping() -> None:
        for turn in (0, 1):
            (dist.send if turn == place else dist.recv)(small, peer)
        wait()

    def exchange() -> None:
        both = [dist.P2POp(dist.isend, sent, peer), dist.P2POp(dist.irecv, received, peer)]
        for work in dist.batch_isend_irecv(both):
            work.wait()
        wait()

    def times(operation: Callable[[], None], most: int) -> list[float]:
        first = _times(operation, WARMUP)
        count = torch.tensor([max(FEWEST, min(most, int(MEASURED_S / min(first))))], dtype=torch.int64, device=device)
        dist.broadcast(count, 0)  # both have to agree
        return _times(operation, int(count.item()))

    round_trips = sorted(times(ping, MOST_MESSAGES))
    exchanges = times(exchange, MOST_EXCHANGES)
    return Transfer(round_trips[len(round_trips) // QUICK] / 2, size * len(exchanges) / sum(exchanges))


def _times(operation: Callable[[], None], count: int) -> list[float]:
    marks = [time.perf_counter()]
    for _turn in range(count):
        operation()
        marks.append(time.perf_counter())
    return [after - before for before, after in zip(marks, marks[1:])]
