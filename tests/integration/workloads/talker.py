# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that writes: a progress bar as tqdm does, at 20 Hz; many bytes, printable or not; and a last line.

usage: talker.py [--seconds S] [--mib N] [--binary] [--until FILE]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time

BLOCK = 1 << 16


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--mib", type=float, default=0.0)
    parser.add_argument("--binary", action="store_true")
    parser.add_argument("--until")
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    print(f"rank {rank} begins", flush=True)
    steps = int(args.seconds * 20)
    for step in range(steps + 1):
        done = 10 * step // max(1, steps)
        progress_bar = f"\r{10 * done:3d}%|{'█' * done:<10}| {step}/{steps} [00:{step // 20:02d}<00:00, 20.00it/s]"
        os.write(sys.stdout.fileno(), progress_bar.encode())
        time.sleep(1 / 20)
    os.write(sys.stdout.fileno(), b"\n")
    noise = random.Random(rank)
    line = b"%d " % rank + b"x" * 97 + b"\n"
    for _block in range(int(args.mib * 16)):
        data = memoryview(noise.randbytes(BLOCK) if args.binary else line * (BLOCK // len(line)))
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
    if args.binary:
        os.write(sys.stdout.fileno(), b"\n")
    print(f"rank {rank} ends at {time.time():.3f}", flush=True)
    while args.until and not os.path.exists(args.until):
        time.sleep(0.1)


if __name__ == "__main__":
    main()
