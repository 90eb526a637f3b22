# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank whose loss is a known function of A and B; it fails at the point FAIL and hangs at HANG until CURE exists."""

import json
import os
import time

a, b = int(os.environ["A"]), int(os.environ["B"])
point = f"{a},{b}"
cure = os.environ["CURE"]
if point == os.environ.get("FAIL") and not os.path.exists(cure):
    raise ValueError(f"no loss at {point}")
while point == os.environ.get("HANG") and not os.path.exists(cure):
    time.sleep(0.1)
rank = int(os.environ["RANK"])
record = {"rank": rank, "step": 1, "total_steps": 1, "loss": float((a - 2) ** 2 + (b - 1) ** 2)}
with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], f"rank_{rank:02d}_metrics.jsonl"), "w") as metrics:
    print(json.dumps(record), file=metrics)
