# SPDX-License-Identifier: GPL-3.0-or-later
"""All collectives of a benchmark, one after the other, under torchrun: `collectives.py OUTPUT CORRUPT SIZE...`.

OUTPUT gets a directory for each. CORRUPT are the collectives, joined by commas, whose results rank 1 changes, in one
element each time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist

from ansible_collections.muster.train.plugins.module_utils.runner.attempt import collectives

NAMES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
PLACE = 1
operation = collectives.GroupCollective.operation


def corrupted(self: collectives.GroupCollective, count: int) -> Any:
    run = operation(self, count)

    def run_and_corrupt() -> None:
        run()
        if int(os.environ["RANK"]) == 1:
            self.received[PLACE if count > PLACE else 0] += 1

    return run_and_corrupt


def main(output: str, corrupt: str, *sizes: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    options = {"scope": "all", "backend": "gloo", "dtype": "float32", "warmup": 1, "iterations": 3, "check": 1}
    for name in NAMES:
        known = {**options, "collective": name, "output": Path(output, name)}
        words = [word for option, value in known.items() for word in (f"--{option}", str(value))]
        chosen = corrupted if name in corrupt.split(",") else operation
        with patch.object(collectives.GroupCollective, "operation", chosen):
            collectives.run(torch, collectives.parse([*words, *sizes]), "cpu")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
