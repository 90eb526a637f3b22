# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of outputs that all nodes of a run share: each of them makes it, and the head marks it.

The mark lies beside it, because programs such as the Trainer of Hugging Face refuse a directory that is not empty.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import stat
import time

from .._records.job import Job
from . import files
from .claim import Refused

# For a file server that shows a new file late; the others' runners have made the directory before the ranks start.
PATIENCE_S, LOOK_S = 10.0, 0.5


def lay_out(job: Job) -> None:
    """Make the directory, and mark it if this is the head; raise Refused where it cannot be this run's."""
    parent = os.path.dirname(job.output_dir)
    try:
        if not os.path.isdir(parent):
            where = "" if job.container is None else " in the container"
            raise Refused(
                f"launch_shared_output_dir: {parent} is not a directory{where}; expected one that all nodes share; "
                "mount it there at the same path, or correct launch_shared_output_dir"
            )
        files.make_dir(job.output_dir)
        status, trusted = os.lstat(job.output_dir), (os.geteuid(), os.stat(parent).st_uid)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in trusted:
            raise Refused(
                f"{job.output_dir} is not a directory, or it belongs to another user; expected a directory of this "
                "user; remove it, or launch under another run ID"
            )
        if job.node_rank == 0:
            for earlier in glob.glob(glob.escape(_mark(job, "")) + "*"):
                with contextlib.suppress(OSError):
                    os.unlink(earlier)
            _make_mark(job)
    except OSError as error:
        raise Refused(
            f"{error.filename or job.output_dir} cannot be created: {error.strerror}; let this user write there, "
            "or set launch_shared_output_dir to another directory"
        ) from error


def check(job: Job) -> None:
    """Raise OSError where this node does not see the head's mark, so that its directory is another one.

    A cleaner of a scratch directory may have removed what `lay_out` made.
    """
    files.make_dir(job.output_dir)
    if job.node_rank == 0:
        _make_mark(job)
    deadline = time.monotonic() + PATIENCE_S
    while not os.path.exists(_mark(job, job.nonce)):
        if time.monotonic() >= deadline:
            parent = os.path.dirname(job.output_dir)
            why = (
                f"launch_shared_output_dir: this node does not see what the head created in {parent}; expected one "
                "directory that all nodes share; mount it here, or correct launch_shared_output_dir"
            )
            raise OSError(errno.ENOENT, why)
        time.sleep(LOOK_S)


def _make_mark(job: Job) -> None:
    os.close(files.create(_mark(job, job.nonce), os.O_WRONLY))


def _mark(job: Job, nonce: str) -> str:
    parent, run_id = os.path.split(job.output_dir)
    return os.path.join(parent, f".muster+{run_id}+{nonce}")  # no run ID has a plus
