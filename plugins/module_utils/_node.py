# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of a node in one look. (`_node.py` is private to the collection.)"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from ._code import read_code
from ._files import find_python, locate, read_config, read_file
from ._gpu_presence import read_gpu
from ._host import Host
from ._limits import read_memlock
from ._machine import read_cpus, read_identity, read_systemd, read_user
from ._net import read_net
from ._probe import run_probes
from ._records import Config, File, Memlock, NodeFacts, TrainingPython, Workdir
from ._slot import read_holder
from ._workdir import read_workdir

SUBSETS = ("net", "gpu", "code", "files", "limits", "slot")
# Above what the commands of one subset may take together.
PROBE_CAP_S = 10.0


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a launch wants to know of a node. Relative files are below code_dir."""

    workdir: str
    code_dir: str
    python: str = "python3"
    files: tuple[str, ...] = ()
    config: str | None = None
    ports: tuple[int, ...] = ()
    slot: str = "default"
    subset: tuple[str, ...] = SUBSETS


def gather(host: Host, asked: Asked, cap: float = PROBE_CAP_S) -> tuple[NodeFacts, list[str]]:
    """Return the facts and, in words, what could not be seen. No part waits for another or takes more than cap s."""
    warnings: list[str] = []
    identity = read_identity(host)
    cpus = read_cpus(host)
    if cpus is None:
        warnings.append("/proc/self/status does not list the CPUs of this process: counting 1")
    probes: dict[str, Callable[[], Any]] = {
        "workdir": lambda: read_workdir(host, asked.workdir, identity.mark),
        "python": lambda: find_python(host, asked.code_dir, asked.python),
    }
    subsets: dict[str, Callable[[], Any]] = {
        "net": lambda: read_net(host, asked.ports, warnings.append),
        "gpu": lambda: read_gpu(host),
        "code": lambda: read_code(host, asked.code_dir, warnings.append),
        "files": lambda: _read_files(host, asked, warnings.append),
        "limits": lambda: _read_limits(host, warnings.append),
        "slot": lambda: read_holder(host, asked.workdir, asked.slot),
    }
    probes.update((name, subsets[name]) for name in SUBSETS if name in asked.subset)
    found, failures = run_probes(probes, cap)
    files, config = found.get("files") or (None, None)
    facts = NodeFacts(
        hostname=identity.hostname,
        machine_id=identity.machine_id,
        boot_id=identity.boot_id,
        user=read_user(host),
        cpus=cpus or 1,
        gpu=found.get("gpu"),
        net=found.get("net"),
        workdir=found["workdir"] or Workdir(asked.workdir, None, False, None),
        code=found.get("code"),
        python=found["python"] or TrainingPython(asked.python, None),
        files=files,
        config=config,
        systemd=read_systemd(host),
        memlock=found.get("limits"),
        holder=found.get("slot"),
    )
    return facts, failures + warnings


def _read_files(host: Host, asked: Asked, warn: Callable[[str], None]) -> tuple[dict[str, File], Config | None]:
    files = {name: read_file(host, locate(host, asked.code_dir, name)) for name in asked.files}
    if asked.config is None:
        return files, None
    return files, read_config(host, locate(host, asked.code_dir, asked.config), warn)


def _read_limits(host: Host, warn: Callable[[str], None]) -> Memlock | None:
    memlock = read_memlock(host)
    if memlock is None:
        warn("/proc/self/limits says nothing of locked memory: the limits of this node are unknown")
    return memlock
