# SPDX-License-Identifier: GPL-3.0-or-later
"""All collectives of a benchmark, one after the other, under torchrun: `collectives.py OUTPUT CORRUPT SIZE...`.

OUTPUT gets a directory for each. CORRUPT is the collective whose results rank 1 changes, in one element each time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ansible_collections.muster.train.plugins.module_utils.runner.attempt import collectives

NAMES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
PLACE = 1
operation = collectives.Collective.operation


def corrupted(self: collectives.Collective, count: int) -> Any:
    run = operation(self, count)

    def run_and_corrupt() -> None:
        run()
        if int(os.environ["RANK"]) == 1:
            self.received[PLACE if count > PLACE else 0] += 1

    return run_and_corrupt


def main(output: str, corrupt: str, *sizes: str) -> None:
    torch.set_num_threads(1)
    options = [
        "--scope",
        "all",
        "--backend",
        "gloo",
        "--dtype",
        "float32",
        "--warmup",
        "1",
        "--iterations",
        "3",
        "--check",
        "1",
    ]
    for name in NAMES:
        collectives.Collective.operation = corrupted if name == corrupt else operation  # type: ignore[method-assign]
        collectives.main(["--collective", name, *options, "--output", str(Path(output, name)), *sizes])
        assert not dist.is_initialized()


if __name__ == "__main__":
    main(*sys.argv[1:])
