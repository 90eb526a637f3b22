# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of a node in one look."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable

from .._container.kind import read_container
from .._gpu.devices import read_gpu
from .._host.host import Host
from .._host.probe import run_probes
from .._net.network import read_net
from .._rdma.devices import read_rdma
from .._records.gpu import Gpu
from .._records.node import Config, File, NodeFacts, TrainingPython, Workdir
from .._records.rdma import Rdma
from .._records.subsets import HEALTH
from .._records.system import Disk, Limit, Memlock
from .._runs.slot import read_holder
from .._software.code import read_code
from .._software.files import find_python, locate, read_config, read_file
from .._software.tools import read_tools
from .._software.versions import read_versions
from .._system.disks import ALWAYS, read_disk
from .._system.kernel import read_kernel
from .._system.limits import read_limits, read_memlock
from .._system.machine import read_cpus, read_identity, read_systemd, read_user
from .._system.workdir import read_workdir
from .query import FactsQuery

# Above what the commands of one subset may take together.
PROBE_CAP_S = 10.0


@dataclass(frozen=True)
class Gathered:
    """What was found; rdma and gpu are facts of their own, here only if asked for."""

    node: NodeFacts
    rdma: Rdma | None
    gpu: Gpu | None
    warnings: list[str]

    def to_facts(self, query: FactsQuery) -> dict[str, Any]:
        """Return what goes into ansible_facts: node, and of rdma and gpu what was asked for."""
        records = {"rdma": self.rdma, "gpu": self.gpu}
        return {
            "node": self.node.to_dict(),
            **{name: record.to_dict() if record else None for name, record in records.items() if name in query.subset},
        }


def gather(host: Host, query: FactsQuery, cap: float = PROBE_CAP_S) -> Gathered:
    """Return the facts and, in words, what could not be seen. No part waits for another or takes longer than cap s."""
    if sys.version_info < (3, 10):
        from . import eager  # noqa: F401
    warnings: list[str] = []
    identity = read_identity(host)
    cpus = read_cpus(host)
    if cpus is None:
        warnings.append("/proc/self/status does not list the CPUs of this process: counting 1")
    subsets: dict[str, Callable[[], Any]] = {
        "net": lambda: read_net(host, query.ports, warnings.append),
        "rdma": lambda: read_rdma(host, warnings.append),
        "gpu": lambda: read_gpu(host, warnings.append),
        "code": lambda: read_code(host, query.code_dir, warnings.append),
        "files": lambda: _read_files(host, query, warnings.append),
        "limits": lambda: _read_limits(host, warnings.append),
        "slot": lambda: read_holder(host, query.workdir, query.slot),
        "container": lambda: read_container(host),
        "versions": lambda: read_versions(host, query.code_dir, query.python, warnings.append),
        "tools": lambda: read_tools(host),
        "kernel": lambda: read_kernel(host),
    }
    probes: dict[str, Callable[[], Any]] = {
        "workdir": lambda: read_workdir(host, query.workdir, identity.mark),
        "python": lambda: find_python(host, query.code_dir, query.python),
        **{name: probe for name, probe in subsets.items() if name in query.subset},
        **_health_probes(host, query),
    }
    disks = _disks(query) if "disk" in query.subset else []
    # One each: of data directories on five file servers, the one that is gone takes no other along.
    probes.update({f"disk {path}": _disk_probe(host, query, path) for path in disks})
    times: dict[str, int] = {}
    answers, failures = run_probes(probes, cap, times)
    files, config = answers.get("files") or (None, None)
    memlock, limits = answers.get("limits") or (None, None)
    node = NodeFacts(
        hostname=identity.hostname,
        machine_id=identity.machine_id,
        boot_id=identity.boot_id,
        user=read_user(host),
        cpus=cpus or 1,
        net=answers.get("net"),
        workdir=answers["workdir"] or Workdir(query.workdir, None, False, None),
        code=answers.get("code"),
        python=answers["python"] or TrainingPython(query.python, None),
        files=files,
        config=config,
        systemd=read_systemd(host),
        memlock=memlock,
        holder=answers.get("slot"),
        limits=limits,
        container=answers.get("container"),
        disks=[answers[f"disk {path}"] or Disk(path) for path in disks] if "disk" in query.subset else None,
        versions=answers.get("versions"),
        tools=answers.get("tools"),
        kernel=answers.get("kernel"),
        timings=_timings(times),
        **{name: answers.get(name) for name in HEALTH},
    )
    return Gathered(node, answers.get("rdma"), answers.get("gpu"), failures + warnings)


def _disks(query: FactsQuery) -> list[str]:
    return list(dict.fromkeys([query.workdir, query.code_dir, *query.data_dirs, *ALWAYS]))


def _timings(times: dict[str, int]) -> dict[str, int]:
    """Return one time for a subset: of all disks the longest, for they are looked at side by side."""
    timings: dict[str, int] = {}
    for name, time in times.items():
        subset = name.partition(" ")[0]
        timings[subset] = max(time, timings.get(subset, 0))
    return timings


def _disk_probe(host: Host, query: FactsQuery, path: str) -> Callable[[], Disk]:
    # Data and code are not a run's to write; shared memory always can be.
    probe = query.probe_disks and path in (query.workdir, "/tmp")
    return lambda: read_disk(host, path, probe)


def _health_probes(host: Host, query: FactsQuery) -> dict[str, Callable[[], Any]]:
    """Return the probes of HEALTH that are asked for; their readers are imported only then."""
    wanted = [name for name in HEALTH if name in query.subset]
    if not wanted:
        return {}
    from .health import probes

    return {name: probe for name, probe in probes(host, query).items() if name in wanted}


def _read_files(host: Host, query: FactsQuery, warn: Callable[[str], None]) -> tuple[dict[str, File], Config | None]:
    files = {name: read_file(host, locate(host, query.code_dir, name)) for name in query.files}
    if query.config is None:
        return files, None
    return files, read_config(host, locate(host, query.code_dir, query.config), warn)


def _read_limits(host: Host, warn: Callable[[str], None]) -> tuple[Memlock | None, dict[str, Limit]]:
    memlock = read_memlock(host)
    if memlock is None:
        warn("/proc/self/limits does not contain the limit of locked memory: the limits of this node are unknown")
    return memlock, read_limits(host)
