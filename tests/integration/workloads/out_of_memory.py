# SPDX-License-Identifier: GPL-3.0-or-later
"""Rank 1 fails as a GPU without free memory does; the others wait for it in a barrier, and lose their peer."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if os.environ["RANK"] == "1":
    raise torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB."
    )
dist.barrier()
