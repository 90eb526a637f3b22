# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that hangs: one rank never comes to the barrier at which all others wait.

usage: hanging.py [--rank R] --mark FOLDER; the folder gets what each rank handles, and a file when it is where it stays
"""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import time


def load_batch() -> None:
    while True:
        time.sleep(0.2)


def meet(peers: list[pathlib.Path]) -> None:
    while not all(peer.exists() for peer in peers):
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=-1)
    parser.add_argument("--mark", type=pathlib.Path, required=True)
    args = parser.parse_args()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    handled = {number for number in signal.valid_signals() if signal.getsignal(number) != signal.SIG_DFL}
    (args.mark / f"handled_{rank}").write_text(repr(sorted(map(int, handled))))
    print(f"rank {rank} begins", flush=True)
    (args.mark / f"at_{rank}").touch()
    if rank == args.rank:
        load_batch()
    meet([args.mark / f"arrived_{number}" for number in range(world_size)])


if __name__ == "__main__":
    main()
