# SPDX-License-Identifier: GPL-3.0-or-later
"""Say what a process has in a container, as JSON; and leave a file in the directory of the argument."""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
from pathlib import Path

WORK = Path(sys.argv[1])
NAMES = ("Uid", "Gid", "Groups", "CapBnd")


def devices() -> dict[str, list[int]]:
    """Return the devices that are no container's without asking, by path, as their numbers."""
    numbers = {}
    for path in (*Path("/dev").glob("*"), *Path("/dev/dri").glob("*"), *Path("/dev/infiniband").glob("*")):
        mode = path.lstat()
        if stat.S_ISCHR(mode.st_mode):
            numbers[str(path)] = [os.major(mode.st_rdev), os.minor(mode.st_rdev)]
    return numbers


def main() -> None:
    """Write all answers on one line."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    shm = os.statvfs("/dev/shm")
    made = WORK / "made"
    made.unlink(missing_ok=True)
    made.write_text("by a container\n")
    made.chmod(0o640)
    answers = {
        "cwd": os.getcwd(),
        "may_use_kfd": os.access("/dev/kfd", os.R_OK | os.W_OK),
        "devices": devices(),
        "init": Path("/proc/1/comm").read_text().strip(),
        "limits": {
            "memlock": resource.getrlimit(resource.RLIMIT_MEMLOCK),
            "stack": resource.getrlimit(resource.RLIMIT_STACK),
        },
        "mounts": {mount[4]: mount[5].split(",")[0] for mount in mounts},
        "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in ("ipc", "net")},
        "nccl_conf": Path("/etc/nccl.conf").read_text() if Path("/etc/nccl.conf").exists() else None,
        "shm": shm.f_frsize * shm.f_blocks,
        "status": {name: status[name].split() for name in NAMES},
    }
    sys.stdout.write(json.dumps(answers))


main()
