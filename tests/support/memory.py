# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group with little memory, as a runner's systemd unit or container may have."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.memory import counters
from ansible_collections.muster.train.tests.support.jobs import wait_for

LIMITS = {"memory.oom_control": "memory.limit_in_bytes", "memory.events": "memory.max"}
# With swap space, what is over the limit is swapped out instead; version 1 limits both together.
SWAP = {"memory.oom_control": "memory.memsw.limit_in_bytes", "memory.events": "memory.swap.max"}
# More than the limit, touched; a rank that is not killed ends well.
HUNGRY = "x = bytearray(512 << 20)"


def _groups() -> list[Path]:
    texts = (Path("/proc/self", name).read_text() for name in ("cgroup", "mountinfo"))
    return [Path(file) for file, _group in counters(*texts)]


def skip_reason() -> str | None:
    """Why no control group can be made here; None where one can."""
    if os.geteuid() != 0:
        return "only root can make a control group"
    if not any(file.exists() and os.access(file.parent, os.W_OK) for file in _groups()):
        return "the memory controller is not mounted, or read-only"
    with contextlib.suppress(OSError), small_group(1 << 30):
        return None
    return "no control group can be made here"


@contextlib.contextmanager
def small_group(limit: int) -> Iterator[list[str]]:
    """Yield the prefix of a command that runs it in a new control group with so many bytes of memory."""
    counter, *_others = filter(Path.exists, _groups())
    group = Path(tempfile.mkdtemp(prefix="muster-test-", dir=counter.parent))
    try:
        (group / LIMITS[counter.name]).write_text(str(limit))
        swap = group / SWAP[counter.name]
        if swap.exists():
            swap.write_text(str(limit if counter.name == "memory.oom_control" else 0))
        yield ["/bin/sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]
    finally:
        wait_for(lambda: _removed(group), f"{group} is empty", 60)


def _removed(group: Path) -> bool:
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()
