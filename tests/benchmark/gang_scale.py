# SPDX-License-Identifier: GPL-3.0-or-later
"""How the gang scales on one machine: the runners' connections and decisions, without their launchers.

usage: python tests/benchmark/gang_scale.py [--members 256,1000] [--strangers 0,1000]

The head is a process of its own, as are the strangers, who come back as soon as they are sent away; all members share
another one. Prints, for each size: seconds from the last arrival until every member has its `go`; from a failure until
every member has its `stop`; the head's and a member's share of a core while nothing happens, and the head's resident
memory. Aims: 1 s, 1 s, 1 %, 0.2 %, 25 MB; the first two and the last with strangers too.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import resource
import selectors
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils._records.gang import NodeSign
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.run import MemlockLimits, Progress
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import Gang, overview_s, report_of
from ansible_collections.muster.train.plugins.module_utils.runner.gang.head import Head
from ansible_collections.muster.train.plugins.module_utils.runner.gang.member import Member
from ansible_collections.muster.train.plugins.module_utils.runner.gang.network import GangNetwork
from ansible_collections.muster.train.plugins.module_utils.runner.supervisor import HEARTBEAT_S, TICK_S
from ansible_collections.muster.train.tests.support.gang import KEY, make_gang

CONTEXT = multiprocessing.get_context("spawn")
# What a node of eight ranks says of itself.
SIGN = NodeSign(
    phase="running",
    attempt=0,
    elapsed_s=3600.5,
    progress=Progress(12345, 100000, 2.3456789, 41234.5, 10.123),
    step_age_s=0.4,
    line_age_s=0.4,
    pids=list(range(1234560, 1234568)),
    starter="systemd",
    memlock=MemlockLimits(-1, -1),
)
# Four signs of life of a large gang's nodes.
IDLE_S = 20.0
HEADERS = "members  strangers  go s   stop s  head %  member %  head MiB"
ROW = (
    "{members:7}  {strangers:9}  {go_s:5.3f}  {stop_s:6.3f}  {head_idle_percent:6.2f}  {member_idle_percent:8.3f}  "
    "{head_mib:8.1f}"
)


def turn(selector: selectors.BaseSelector, gangs: list[Gang]) -> None:
    """Run one turn of the runner's loop."""
    for key, events in selector.select(TICK_S):
        key.data(events)
    now = time.monotonic()
    for gang in gangs:
        gang.tick(now)


def lead(job: Job, word: Connection) -> None:
    """Be the head: say the head's CPU seconds and memory each time it is asked."""
    selector = selectors.DefaultSelector()
    head = Head(job, KEY.encode(), selector, GangNetwork())
    selector.register(word, selectors.EVENT_READ, lambda _events: None)
    word.send("listens")
    written_s = overview_s(job.nnodes)
    next_beat = next_statuses = 0.0
    while True:
        turn(selector, [head])
        now = time.monotonic()
        if now >= next_beat:
            next_beat = now + HEARTBEAT_S
            head.pace(now)
        if now >= next_statuses:
            next_statuses = now + written_s
            files.write_json(f"{Path(job.workdir).parent}/nodes.json", head.statuses(now), durable=False)
        head.orders.clear()
        if word.poll():
            if word.recv() == "end":
                return
            used = resource.getrusage(resource.RUSAGE_SELF)
            word.send((used.ru_utime + used.ru_stime, _resident_mib()))


def _resident_mib() -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.split("\nVmRSS:")[1].split()[0]) / 1024


def crowd(port: int, count: int, word: Connection) -> None:
    """Act as many strangers: connect, stay silent, and connect again when the head closes the connection."""
    selector = selectors.DefaultSelector()
    selector.register(word, selectors.EVENT_READ)

    def come() -> None:
        sock = socket.create_connection(("127.0.0.1", port))
        selector.register(sock, selectors.EVENT_READ)

    for _number in range(count):
        come()
    word.send("here")
    while True:
        for key, _events in selector.select():
            if key.fileobj is word:
                return
            if isinstance(key.fileobj, socket.socket) and _is_closed(key.fileobj):
                selector.unregister(key.fileobj)
                key.fileobj.close()
                come()


def _is_closed(sock: socket.socket) -> bool:
    try:
        return not sock.recv(4096)
    except OSError:
        return True


@contextlib.contextmanager
def beside(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Run a function in a separate process, without shared memory; the message `end` ends it."""
    mine, its = CONTEXT.Pipe()
    process = CONTEXT.Process(target=target, args=(*arguments, its))
    process.start()
    mine.recv()
    try:
        yield mine
    finally:
        mine.send("end")
        process.join()


def until(condition: Callable[[], bool], selector: selectors.BaseSelector, members: list[Gang]) -> float:
    """Run turns until the condition holds; return the seconds."""
    began = time.monotonic()
    while not condition():
        turn(selector, members)
    return time.monotonic() - began


def ordered(members: list[Gang], kind: str) -> bool:
    """Return whether every member has such an order."""
    return all(any(order["type"] == kind for order in member.orders) for member in members)


def measure(count: int, strangers: int, home: Path) -> dict[str, Any]:
    """Measure one gang of a head and `count` members, with `strangers` connecting to the head."""
    jobs = make_gang(home, [["true"]] * (count + 1), join_timeout=600)
    selector = selectors.DefaultSelector()
    with contextlib.ExitStack() as others:
        mine = others.enter_context(beside(lead, jobs[0]))
        if strangers:
            others.enter_context(beside(crowd, jobs[0].gang.port, strangers))
        members: list[Gang] = [Member(job, KEY.encode(), selector, GangNetwork()) for job in jobs[1:-1]]
        until(lambda: all("joined" in member.waiting_reason() for member in members), selector, members)
        members.append(Member(jobs[-1], KEY.encode(), selector, GangNetwork()))
        go = until(lambda: ordered(members, "go"), selector, members)
        for member in members:
            member.orders.clear()
            member.sign = SIGN
            member.report_running()
        mine.send("cost")
        head_before, _memory = mine.recv()
        cpu_before, idle_began = time.process_time(), time.monotonic()
        until(lambda: time.monotonic() - idle_began > IDLE_S, selector, members)
        cpu_s = time.process_time() - cpu_before
        mine.send("cost")
        head_after, memory = mine.recv()
        members[-1].report_failure(report_of("failed", {"why": "it broke", "exit_code": 1}))
        stop = until(lambda: ordered(members[:-1], "stop"), selector, members)
    for member in members:
        member.close()
    return {
        "members": count,
        "strangers": strangers,
        "go_s": go,
        "stop_s": stop,
        "head_idle_percent": 100 * (head_after - head_before) / IDLE_S,
        "member_idle_percent": 100 * cpu_s / IDLE_S / count,
        "head_mib": memory,
    }


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=numbers, default=[256, 1000])
    parser.add_argument("--strangers", type=numbers, default=[0, 1000])
    options = parser.parse_args()
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(HEADERS)
    for count in options.members:
        for strangers in options.strangers:
            with tempfile.TemporaryDirectory() as home:
                figures = measure(count, strangers, Path(home))
            print(ROW.format(**figures), flush=True)


if __name__ == "__main__":
    main()
