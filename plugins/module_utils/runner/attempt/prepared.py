# SPDX-License-Identifier: GPL-3.0-or-later
"""What an attempt finds and makes in the run directory before its launcher starts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from ..._records.frozen import frozen
from ..._records.job import Job
from .. import files, shared_outputs
from . import progress
from .metrics.metrics import trainer_files
from .nccl_logs import NcclLogs
from .output import make_pipes
from .place import WITHOUT_TORCHRUN
from .program import find_program


@frozen
class Prepared:
    """What an attempt needs of the storage: its program, the ranks' pipes, and the stamps of earlier files.

    nccl_logs read what NCCL says of its fabric, None where the plan does not have that proved.
    """

    program: str
    pipes: list[int]
    earlier: progress.Stamps
    nccl_logs: NcclLogs | None = None


def lay_out(job: Job, run_dir: str, environment: Mapping[str, str]) -> Prepared:
    """Make what an attempt needs in the run directory, and find its program. Waits for the storage."""
    program = find_program(job.argv[0], environment)
    for path in (job.code_dir, program):
        with contextlib.suppress(OSError):  # its start says what is wrong
            os.stat(path)
    if job.shares_outputs:
        shared_outputs.check(job)
    errors = os.path.join(run_dir, "errors")
    files.remove_tree(errors)
    files.make_dir(errors)
    pipes = make_pipes(run_dir, 0 if job.launcher in WITHOUT_TORCHRUN else job.nproc)
    earlier = progress.read_stamps(job.output_dir, checkpoint_dirs(job), trainer_files(job))
    nccl_logs = None if job.transport is None else NcclLogs(job, job.transport, run_dir)
    return Prepared(program, pipes, earlier, nccl_logs)


def checkpoint_dirs(job: Job) -> list[str]:
    """Return where checkpoints are saved: below the outputs, and where the cluster's policy says."""
    declared = [os.path.join(job.cwd, os.path.expanduser(job.checkpoint_dir))] if job.checkpoint_dir else []
    return [os.path.join(job.output_dir, progress.CHECKPOINTS), *declared]
