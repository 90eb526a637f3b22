# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of a node, gathered side by side."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Callable

from .._container.kind import read_container
from .._gpu.devices import read_gpu
from .._host.host import Host
from .._host.live import LiveHost
from .._host.probe import run_probes
from .._net.network import read_net
from .._rdma.devices import read_rdma
from .._records.frozen import frozen
from .._records.gpu import Gpu, GpuProcess
from .._records.node import Config, File, NodeFacts, Script, TrainingPython, Workdir
from .._records.rdma import Rdma
from .._records.subsets import HEALTH
from .._records.system import Apptainer, Disk, Inherited, Limit, Memlock, ProfilerTool
from .._software.code import read_code
from .._software.files import find_python, locate, read_config, read_file
from .._software.tools import read_tools
from .._software.versions import read_versions
from .._system.cpus import read_affinity, read_cpu_limit
from .._system.disks import ALWAYS, read_disk
from .._system.inherited import read_inherited
from .._system.kernel import read_kernel
from .._system.limits import read_limits, read_memlock
from .._system.machine import read_identity, read_systemd, read_user
from .._system.slurm import read_slurm
from .._system.workdir import read_keeper, read_workdir
from .query import FactsQuery

# Above what the commands of one subset may take together.
PROBE_CAP_S = 10.0
# nvidia-smi is asked once more, alone and with patience, before it counts as hung.
GPU_CAP_S = 30.0


@frozen
class Gathered:
    """The facts of a node; rdma and gpu are separate facts, None unless the query has them."""

    node: NodeFacts
    rdma: Rdma | None
    gpu: Gpu | None
    warnings: list[str]

    def to_facts(self, query: FactsQuery) -> dict[str, Any]:
        """Return the ansible_facts: node, and those of rdma and gpu that the query has."""
        records = {"rdma": self.rdma, "gpu": self.gpu}
        return {
            "node": self.node.to_dict(),
            **{name: record.to_dict() if record else None for name, record in records.items() if name in query.subset},
        }


def gather(host: LiveHost, query: FactsQuery, cap: float = PROBE_CAP_S) -> Gathered:
    """Return the facts, with a warning for each part that could not be read. No part takes longer than cap s."""
    if sys.version_info < (3, 10):
        from .eager import readers

        readers()
    warnings: list[str] = []
    identity = read_identity(host)
    affinity, cpu_limit = read_affinity(host), read_cpu_limit(host)
    if affinity is None:
        warnings.append("/proc/self/status does not list the CPUs of this process: counting 1")
    subsets: dict[str, Callable[[], Any]] = {
        "net": lambda: read_net(host, query.ports, warnings.append),
        "rdma": lambda: read_rdma(host, warnings.append),
        "gpu": lambda: read_gpu(host, warnings.append),
        "code": lambda: read_code(host, query.code_dir, warnings.append, _named(host, query)),
        "files": lambda: _read_files(host, query, warnings.append),
        "limits": lambda: _read_limits(host, warnings.append),
        "slot": lambda: read_keeper(host, query.workdir, query.node, query.slot) if query.node else None,
        "container": lambda: read_container(host),
        "versions": lambda: read_versions(host, query.code_dir, query.python, warnings.append, query.python_path),
        "tools": lambda: read_tools(host),
        "kernel": lambda: read_kernel(host),
        "inherited": lambda: _read_inherited(host, query, warnings.append),
        "gpu_processes": lambda: _read_gpu_processes(host),
    }
    probes: dict[str, Callable[[], Any]] = {
        "workdir": lambda: read_workdir(host, query.workdir, identity.mark, query.probe_locks),
        "python": lambda: find_python(host, query.code_dir, query.python),
        **{name: probe for name, probe in subsets.items() if name in query.subset},
        **_health_probes(host, query),
        **({"profiler": lambda: _read_profiler(host, query)} if query.profiler else {}),
        **({"script": lambda: _read_script(host, query)} if query.script else {}),
        **({"apptainer": lambda: _read_apptainer(host, query, str(query.image))} if query.image else {}),
    }
    disks = _disks(query) if "disk" in query.subset else []
    # One probe per disk: a file server that does not answer must not delay the others.
    probes.update({f"disk {path}": _disk_probe(host, query, path) for path in disks})
    times: dict[str, int] = {}
    answers, failures = run_probes(probes, cap, times, {"gpu": cap + GPU_CAP_S - PROBE_CAP_S})
    files, config = answers.get("files") or (None, None)
    memlock, limits = answers.get("limits") or (None, None)
    node = NodeFacts(
        hostname=identity.hostname,
        machine_id=identity.machine_id,
        boot_id=identity.boot_id,
        user=read_user(host),
        cpus=min(affinity or 1, cpu_limit or affinity or 1),
        cpu_limit=cpu_limit,
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
        disks=[replace(answers[f"disk {path}"] or Disk(path), is_workdir=path == query.workdir) for path in disks]
        if "disk" in query.subset
        else None,
        versions=answers.get("versions"),
        tools=answers.get("tools"),
        profiler=answers.get("profiler"),
        script=answers.get("script"),
        apptainer=answers.get("apptainer"),
        kernel=answers.get("kernel"),
        inherited=answers.get("inherited"),
        slurm=read_slurm(host),
        timings=_timings(times),
        **{name: answers.get(name) for name in HEALTH},
    )
    return Gathered(node, answers.get("rdma"), answers.get("gpu"), failures + warnings)


def _disks(query: FactsQuery) -> list[str]:
    return list(dict.fromkeys([query.workdir, query.code_dir, *query.data_dirs, *ALWAYS]))


def _timings(times: dict[str, int]) -> dict[str, int]:
    """Return one time per subset: for disks, which are read side by side, the longest."""
    timings: dict[str, int] = {}
    for name, time in times.items():
        subset = name.partition(" ")[0]
        timings[subset] = max(time, timings.get(subset, 0))
    return timings


def _disk_probe(host: LiveHost, query: FactsQuery, path: str) -> Callable[[], Disk]:
    # Runs do not write to data and code, and /dev/shm is always writable.
    probe = query.probe_disks and path in (query.workdir, "/tmp")
    return lambda: read_disk(host, path, probe)


def _health_probes(host: LiveHost, query: FactsQuery) -> dict[str, Callable[[], Any]]:
    """Return the other probes of HEALTH in the query; a launch has none, and need not compile their readers."""
    names = [name for name in HEALTH if name in query.subset and name != "gpu_processes"]
    if not names:
        return {}
    from .health import health_probes

    probes = health_probes(host, query)
    return {name: probes[name] for name in names}


def _named(host: Host, query: FactsQuery) -> list[str]:
    return [locate(host, query.code_dir, name) for name in query.files]


def _read_files(host: Host, query: FactsQuery, warn: Callable[[str], None]) -> tuple[dict[str, File], Config | None]:
    files = {name: read_file(host, locate(host, query.code_dir, name)) for name in query.files}
    if query.config is None:
        return files, None
    return files, read_config(host, locate(host, query.code_dir, query.config), warn)


def _read_inherited(host: LiveHost, query: FactsQuery, warn: Callable[[str], None]) -> list[Inherited]:
    inherited = read_inherited(host)
    if query.compose_file is not None:
        from .._container.service import read_service  # only a launch in containers compiles it

        file = locate(host, query.code_dir, query.compose_file)
        inherited += read_service(host, query.docker, file, query.compose_service, warn)
    return inherited


def _read_profiler(host: Host, query: FactsQuery) -> ProfilerTool:
    from .._software.profilers import read_profiler, read_profiler_inside  # only a launch with a profiler compiles it

    if query.compose_file is None:
        return read_profiler(host, str(query.profiler))
    file = locate(host, query.code_dir, query.compose_file)
    run = [*query.docker, "compose", "--file", file, "run", "--no-deps"]
    return read_profiler_inside(host, str(query.profiler), run, query.compose_service)


def _read_script(host: Host, query: FactsQuery) -> Script | None:
    from .._software.script import read_script  # only a launch of a script compiles it

    interpreter = find_python(host, query.code_dir, query.python).path
    path = locate(host, query.code_dir, str(query.script))
    return read_script(host, interpreter, path, query.code_dir, query.python_path) if interpreter else None


def _read_apptainer(host: Host, query: FactsQuery, image: str) -> Apptainer:
    from .._container.apptainer import read_apptainer  # only a launch in an image compiles it

    options = (query.apptainer, query.apptainer_options, image, query.python, query.code_dir, query.binds)
    files = [locate(host, query.code_dir, name) for name in query.files]
    return read_apptainer(host, *options, [query.workdir, query.code_dir, *files])


def _read_gpu_processes(host: Host) -> list[GpuProcess] | None:
    from .._system.gpu_processes import read_gpu_processes  # not every query asks for it

    return read_gpu_processes(host)


def _read_limits(host: Host, warn: Callable[[str], None]) -> tuple[Memlock | None, dict[str, Limit]]:
    memlock = read_memlock(host)
    if memlock is None:
        warn("/proc/self/limits does not contain the limit of locked memory: the limits of this node are unknown")
    return memlock, read_limits(host)
