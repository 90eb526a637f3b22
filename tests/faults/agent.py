# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for torchrun where a fault is not about torch: an agent with ranks below it, up in milliseconds.

usage: agent.py NODE_RANK NPROC [deaf]

What it has in common with torchrun: the head's takes the port where ranks meet; each rank has a session of its own; one
that fails is reported and ends the other ranks; SIGTERM is passed on. Ranks are called rank0, rank1, …, write a
line now and then, exit with code 7 at SIGUSR1, and take 1 GiB of memory at SIGUSR2; deaf ones ignore SIGTERM.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time

CRASH = 7
HOARD_BYTES = 1 << 30


def rank(number: int, deaf: bool) -> None:
    """Be a rank: train nothing, forever."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(CRASH))
    signal.signal(signal.SIGUSR2, lambda *_: bytearray(b"x") * HOARD_BYTES)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    with open("/proc/self/comm", "w") as name:  # the last: who finds a rank by it finds a whole one
        name.write(f"rank{number}")
    while True:
        with contextlib.suppress(OSError):  # its runner is gone: nothing to a deaf one
            os.write(1, b"rank %d goes on\n" % number)
        time.sleep(0.25)


def main(node_rank: int, nproc: int, deaf: bool) -> int:
    report, grace = int(os.environ["MUSTER_REPORT_FD"]), float(os.environ["MUSTER_ABORT_GRACE"])
    if node_rank == 0:
        host, _colon, port = os.environ["PET_RDZV_ENDPOINT"].rpartition(":")
        store = socket.create_server((host, int(port)))
        store.set_inheritable(False)
    ranks: dict[int, int] = {}
    signals: list[int] = []

    def end(how: signal.Signals) -> None:
        for pid in ranks:
            os.kill(pid, how)

    def on_sigterm(number: int, _frame: object) -> None:
        signals.append(number)
        end(signal.SIGTERM)

    signal.signal(signal.SIGTERM, on_sigterm)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    for local_rank in range(nproc):
        pid = os.fork()
        if pid == 0:
            rank(nproc * node_rank + local_rank, deaf)
        ranks[pid] = local_rank
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    failures: list[dict[str, object]] = []
    while ranks:
        pid, status = os.wait()
        local_rank, code = ranks.pop(pid), os.waitstatus_to_exitcode(status)
        if signals:
            continue
        if not failures:
            os.write(report, b'[{"closing": true}]\n')
            end(signal.SIGTERM)
            signal.signal(signal.SIGALRM, lambda *_: end(signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, grace)
        number = nproc * node_rank + local_rank
        failures.append({"rank": number, "local_rank": local_rank, "code": code, "time": time.time(), "error": None})
    if failures:
        os.write(report, json.dumps(failures).encode() + b"\n")
    return 128 + signals[0] if signals else 1


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["deaf"]))
