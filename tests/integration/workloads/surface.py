# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank whose loss is a known function of A and B; it fails at the point FAIL and hangs at HANG until CURE exists.

It makes STEPS steps, 1 if not given, half a second each; at the point STALL it waits for CURE after half of them.
"""

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
loss = float((a - 2) ** 2 + (b - 1) ** 2)
steps = int(os.environ.get("STEPS", "1"))
with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], f"rank_{rank:02d}_metrics.jsonl"), "w") as metrics:
    for step in range(1, steps + 1):
        print(json.dumps({"rank": rank, "step": step, "total_steps": steps, "loss": loss}), file=metrics, flush=True)
        time.sleep(0.5 * (steps > 1))
        while step == steps // 2 and point == os.environ.get("STALL") and not os.path.exists(cure):
            time.sleep(0.1)
