# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks: what each looks for, its level, the facts it needs. (`_checks/` is private to the collection.)"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection
from typing import Literal

from ansible_collections.muster.train.plugins.plugin_utils._checks import (
    _code,
    _container,
    _gpu,
    _host,
    _kernel,
    _network,
    _nodes,
    _rdma,
    _start,
)
from ansible_collections.muster.train.plugins.plugin_utils._checks._model import (
    Cluster,
    Look,
    Node,
    Seen,
    completed,
    on_nodes,
)
from ansible_collections.muster.train.plugins.plugin_utils._checks._properties import IMAGE, PROPERTIES, compare
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding

Level = Literal["fail", "warn", "off"]
LEVELS: tuple[Level, ...] = ("fail", "warn", "off")
# Findings of the environment's rules that have a check of their own here; all others are told as "environment".
OF_RULES = {"rdma ports": ("hcas", "fabric"), "gids": ("gid",), "interface": ("interface", "head address")}
# What a launch finds by itself, by the same functions, under names of its own.
OF_RULES_ELSEWHERE = ("gpus", "facts")


@dataclasses.dataclass(frozen=True)
class Check:
    """A check: needs are the subsets of facts that it looks at, blind the level of not having seen them by default."""

    name: str
    description: str
    level: Level
    look: Look
    needs: tuple[str, ...] = ()
    blind: Level = "fail"


@dataclasses.dataclass(frozen=True)
class Result:
    """A finding, and the level of its check: what is only worth a warning never stops anything."""

    finding: Finding
    level: Level


def _environment(cluster: Cluster) -> list[Finding]:
    own = {name for names in OF_RULES.values() for name in names} | set(OF_RULES_ELSEWHERE)
    names = tuple({each.check: None for each in cluster.decided if each.check not in own})
    found = [
        dataclasses.replace(each, check="environment", observed=f"{each.check}: {each.observed}")
        for each in cluster.decided
        if each.check in names
    ]
    return completed("environment", cluster, found, lambda node: _rdma.rules(node, cluster))


def _rules(name: str, well: Callable[[Node, Cluster], Seen]) -> Look:
    return _rdma.decided(name, *OF_RULES[name], well=well)


WARN_PROPERTIES = (
    "gpu runtime",
    "python",
    "engine version",
    "kernel",
    "cpus",
    "governor",
    "open files",
    "processes",
    "gdr",
)
DESCRIPTIONS = {
    "gpu count": "as many GPUs as the profile or the peers",
    "gpu model": "the same GPUs",
    "driver": "the same driver of the GPUs",
    "gpu runtime": "the same CUDA or ROCm of the system",
    "firmware": "the same firmware on the ranks' adapters",
    "rdma mtu": "the same MTU on the ranks' ports",
    "mtu": "the same MTU on the networks' interfaces",
    "gdr": "the same modules for GPUDirect RDMA",
    "torch": "the same PyTorch",
    "nccl": "the same NCCL",
    "rccl": "the same RCCL of the system",
    "python": "the same Python",
    "engine version": "the same container engine",
    "kernel": "the same kernel, which is what the node was booted with",
    "kernel command line": "the same words about PCI and memory on the kernel's command line",
    "cpus": "as many CPUs for the ranks",
    "governor": "the same frequency governor",
    "open files": "the same hard limit of open files",
    "processes": "the same hard limit of processes",
}

CHECKS: tuple[Check, ...] = (
    Check("answer", "the node answers Ansible", "fail", _nodes.answer),
    Check("node", "one name and one address for each machine", "fail", _nodes.machines),
    Check("work directory", "it can be written, and is each node's own", "fail", _nodes.work_directory),
    Check("code directory", "the directory with the code is there", "fail", _code.code_directory, ("code",)),
    Check("code", "one commit, one branch, the same changes", "fail", _code.code, ("code",)),
    Check("files", "script and configuration are there and the same", "fail", _code.files, ("files",)),
    Check("python interpreter", "the training interpreter is there", "fail", _start.python),
    Check("torch installed", "torchrun's PyTorch is there", "fail", _start.torch, ("versions",)),
    Check("starter", "systemd takes units, where it is asked for", "fail", _start.starter),
    Check("slot", "no other run holds the slot", "fail", _start.slot, ("slot",)),
    Check(
        "leftovers",
        "no process of an earlier run",
        "warn",
        on_nodes("leftovers", _start.leftovers),
        ("processes", "slot"),
    ),
    Check("hung", "no process hangs in the kernel", "fail", on_nodes("hung", _start.hung), ("processes",)),
    Check("sudo", "the user becomes root without a password", "warn", on_nodes("sudo", _start.sudo), ("sudo",)),
    Check("gpus", "no GPU fell off the bus or off the fabric, all of one kind", "fail", _gpu.gpus, ("gpu",)),
    Check("ecc", "ECC is on, no uncorrected error", "fail", on_nodes("ecc", _gpu.ecc), ("gpu", "gpu_health")),
    Check(
        "gpu memory",
        "no failed or pending row remap, no bad page",
        "fail",
        on_nodes("gpu memory", _gpu.memory_rows),
        ("gpu", "gpu_health"),
    ),
    Check("nvlink", "every NVLink is up", "fail", on_nodes("nvlink", _gpu.nvlink), ("gpu", "gpu_health")),
    Check(
        "fabric manager",
        "it runs where there are NVSwitches",
        "fail",
        on_nodes("fabric manager", _gpu.fabric_manager),
        ("gpu", "gpu_health"),
    ),
    Check("gpu state", "no GPU asks for a reset", "fail", on_nodes("gpu state", _gpu.trouble), ("gpu", "gpu_health")),
    Check(
        "throttling",
        "no GPU is slowed by heat or power",
        "warn",
        on_nodes("throttling", _gpu.throttle),
        ("gpu", "gpu_health"),
    ),
    Check(
        "persistence",
        "the driver stays loaded",
        "warn",
        on_nodes("persistence", _gpu.persistence),
        ("gpu", "gpu_health"),
    ),
    Check(
        "pcie",
        "links of GPUs and adapters are as wide as they can be",
        "fail",
        on_nodes("pcie", _gpu.pcie),
        ("gpu", "rdma", "gpu_health"),
    ),
    Check(
        "gpu processes",
        "nobody else uses the GPUs",
        "fail",
        on_nodes("gpu processes", _gpu.processes),
        ("gpu", "processes"),
    ),
    Check(
        "device files",
        "device nodes can be opened",
        "fail",
        on_nodes("device files", _rdma.device_files),
        ("devices", "gpu", "rdma"),
    ),
    Check(
        "rdma ports",
        "the ranks' ports work, fit together and are as the profile says",
        "fail",
        _rules("rdma ports", _rdma.ports),
        ("rdma", "gpu", "net"),
    ),
    Check("gids", "one RoCE v2 entry that NCCL finds", "fail", _rules("gids", _rdma.gids), ("rdma", "net")),
    Check("rails", "the same port in the same network on all nodes", "fail", _rdma.rails, ("rdma", "net")),
    Check("counters", "few errors on the ranks' ports", "warn", on_nodes("counters", _rdma.counters), ("rdma",)),
    Check("interface", "the way to the head is known", "fail", _rules("interface", _rdma.rules), ("net",)),
    Check(
        "environment",
        "the inventory's variables do not contradict each other",
        "fail",
        _environment,
        ("rdma", "gpu", "net"),
    ),
    Check(
        "iommu",
        "no IOMMU between GPUs and adapters",
        "warn",
        on_nodes("iommu", _kernel.iommu),
        ("kernel", "gpu", "rdma"),
    ),
    Check(
        "kernel log",
        "no error of a GPU or an adapter in this boot",
        "fail",
        on_nodes("kernel log", _kernel.kernel_log),
        ("kernel_log",),
        blind="warn",
    ),
    Check(
        "memlock",
        "the ranks may lock the memory RDMA needs",
        "fail",
        on_nodes("memlock", _host.memlock),
        ("limits", "rdma"),
    ),
    Check(
        "disks",
        "the file systems written to have space and can be written",
        "fail",
        on_nodes("disks", _host.disks),
        ("disk",),
    ),
    Check("shm", "/dev/shm is large enough for GPUs", "warn", on_nodes("shm", _host.shm), ("container", "gpu")),
    Check("swap", "no swap on nodes with GPUs", "warn", on_nodes("swap", _host.swap), ("memory", "gpu")),
    Check("memory", "as much memory as the peers", "fail", _host.memory, ("memory",)),
    Check("clock", "the clock is right", "fail", on_nodes("clock", _host.clock), ("clock",)),
    Check(
        "names", "names stand for the same addresses everywhere, none of them loopback", "fail", _host.names, ("names",)
    ),
    Check("port", "a port for the ranks is free on the head", "fail", _network.port, ("net",)),
    Check("reach", "every node reaches the head", "fail", on_nodes("reach", _network.reach), ("reach",)),
    Check(
        "socket interface",
        "interfaces that the inventory names are there and up",
        "fail",
        on_nodes("socket interface", _network.socket_interface),
        ("interfaces",),
    ),
    Check(
        "engine",
        "the container engine answers, with compose",
        "fail",
        on_nodes("engine", _container.engine),
        ("engine",),
    ),
    Check("image", "the same image on every node", "fail", _container.image, ("engine",)),
    Check("privileged", "containers are not privileged", "warn", on_nodes("privileged", _container.privileged)),
    *(
        Check(
            each.name,
            DESCRIPTIONS[each.name],
            "warn" if each.name in WARN_PROPERTIES else "fail",
            functools.partial(compare, each=each),
            (each.part,),
        )
        for each in PROPERTIES
        if each is not IMAGE
    ),
)
NAMES = tuple(check.name for check in CHECKS)


def run(cluster: Cluster, levels: dict[str, Level], gathered: Collection[str] | None = None) -> list[Result]:
    """Run all checks that are not off; gathered: only those whose facts are among these."""
    results = []
    for check in CHECKS:
        level = levels.get(check.name, check.level)
        if level == "off" or (gathered is not None and not set(check.needs) <= set(gathered)):
            continue
        for found in check.look(cluster):
            blind = found.status == "error" and check.name not in levels and check.blind == "warn"
            results.append(Result(lowered(found, level), "warn" if blind else level))
    return results


def lowered(found: Finding, level: Level) -> Finding:
    """Make of a failure a warning, where that is what the policy says. An error stays one: nobody looked."""
    return dataclasses.replace(found, status="warn") if level == "warn" and found.status == "fail" else found


def code_of(results: list[Result]) -> int:
    """Return 0: all is well, 1: a check failed, 2: what had to be checked could not be. A failure is told first."""
    if any(each.finding.status == "fail" for each in results):
        return 1
    return 2 if any(each.finding.status == "error" and each.level == "fail" for each in results) else 0
