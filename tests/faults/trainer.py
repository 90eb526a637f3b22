# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank under real torchrun that makes steps and keeps each, so that it can go on where it was.

usage: trainer.py STEPS [deaf] [hold]

Rank N of the environment exits with code 7 where its work directory has a file crashN, once. With `hold`, a rank that
begins anew stays at half of its steps until then, or until it is stopped. Without torch.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

CRASH = 7
STEP_S = 0.2


def main(steps: int, words: set[str]) -> None:
    if "deaf" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = int(os.environ["RANK"])
    crash, kept = Path(f"crash{rank}"), Path(f"kept{rank}")
    done = int(kept.read_text()) if kept.exists() else 0
    print(f"begins after step {done}", flush=True)
    with open(f"{os.environ['MUSTER_OUTPUT_DIR']}/rank_{rank:02d}_metrics.jsonl", "a") as metrics:
        for step in range(done + 1, steps + 1):
            print(json.dumps({"step": step}), file=metrics, flush=True)
            kept.write_text(str(step))
            while "hold" in words and not done and step == steps // 2 and not crash.exists():
                time.sleep(STEP_S)
            if crash.exists():
                crash.unlink()
                raise SystemExit(CRASH)
            time.sleep(STEP_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), set(sys.argv[2:]))
