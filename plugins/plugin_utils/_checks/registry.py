# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks: what each looks for, its level, the facts it needs; and how they are run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._cluster.node import Node
from .._findings.finding import Finding
from . import (
    apptainer,
    code,
    container,
    files,
    gpu,
    host,
    kernel,
    network,
    nodes,
    profiler,
    rdma,
    reach,
    script,
    start,
    trust,
)
from .gpu_processes import gpu_processes
from .model import Cluster, Judge, NodeJudge, Outcome, on_nodes
from .policy import CheckPolicy, Level
from .properties import IMAGE, PROPERTIES


@frozen
class Check:
    """A check: needs are the subsets of facts that it reads, blind is its default level if it could not run."""

    name: str
    description: str
    judge: Judge
    needs: tuple[str, ...] = ()
    level: Level = "fail"
    blind: Level = "fail"


@frozen
class Result:
    """A finding, and the level of its check: with the level warn it never stops anything."""

    finding: Finding
    level: Level


def _node_check(
    name: str,
    description: str,
    judge: NodeJudge,
    needs: tuple[str, ...] = (),
    level: Level = "fail",
    blind: Level = "fail",
) -> Check:
    return Check(name, description, on_nodes(judge), needs, level, blind)


def _rule_check(
    name: str,
    description: str,
    needs: tuple[str, ...],
    otherwise: Callable[[Node, Cluster], Outcome] = rdma.rules,
) -> Check:
    """Make a check of what the environment's rules report under its name."""
    return Check(name, description, rdma.decided(name, otherwise), needs)


CHECKS: tuple[Check, ...] = (
    Check("answer", "the node answers Ansible", nodes.answer),
    Check("node", "one name and one address for each machine", nodes.machines),
    Check("work directory", "it can be written, and locks work there", nodes.work_directory),
    _node_check("work directory path", "no other user can replace it", trust.work_directory_path),
    _node_check("code directory", "the directory with the code exists", code.code_directory, ("code",)),
    Check("code", "one commit, one branch, the same changes and files", code.code, ("code",)),
    Check("files", "script and configuration exist and are the same", files.files, ("files",)),
    _node_check("python interpreter", "the training interpreter exists", start.python),
    _node_check("torch installed", "PyTorch is installed, for torchrun", start.torch, ("versions",)),
    _node_check(
        "launcher installed",
        "accelerate or deepspeed is installed, if it is the launcher",
        start.launcher,
        ("versions",),
    ),
    _node_check("script", "it compiles, and what it imports is installed", script.script, blind="warn"),
    _node_check("profiler", "the profiler that a launch asks for is there", profiler.profiler),
    _node_check("starter", "systemd accepts units, if it is the starter", start.starter),
    _node_check("logout", "a run does not end with the controller's session", start.logout),
    _node_check("shared memory", "it is not removed with a session", start.shared_memory, level="warn"),
    _node_check("slot", "no other run holds the slot", start.slot, ("slot",)),
    _node_check("leftovers", "no process of an earlier run", start.leftovers, ("processes", "slot"), "warn"),
    _node_check("hung", "no process hangs in the kernel", start.hung, ("processes",)),
    _node_check("sudo", "the user becomes root without a password", start.sudo, ("sudo",), "warn"),
    Check("gpus", "no GPU fell off the bus or off the fabric, all of one kind", gpu.gpus, ("gpu",)),
    _node_check("ecc", "ECC is on, no uncorrected error", gpu.ecc, ("gpu", "gpu_health")),
    _node_check("gpu memory", "no failed or pending row remap, no bad page", gpu.memory_rows, ("gpu", "gpu_health")),
    _node_check("nvlink", "every NVLink is up", gpu.nvlink, ("gpu", "gpu_health")),
    _node_check("fabric manager", "it runs where there are NVSwitches", gpu.fabric_manager, ("gpu", "gpu_health")),
    _node_check("gpu state", "no GPU needs a reset", gpu.trouble, ("gpu", "gpu_health")),
    _node_check("throttling", "no GPU is slowed by heat or power", gpu.throttle, ("gpu", "gpu_health"), "warn"),
    _node_check("persistence", "the driver stays loaded", gpu.persistence, ("gpu", "gpu_health"), "warn"),
    _node_check("pcie", "links of GPUs and adapters have their full width", gpu.pcie, ("gpu", "rdma", "gpu_health")),
    _node_check("gpu processes", "no other process uses the GPUs", gpu_processes, ("gpu", "slot", "gpu_processes")),
    _node_check("device files", "device nodes can be opened", rdma.device_files, ("devices", "gpu", "rdma")),
    _rule_check(
        "rdma ports",
        "the ranks' ports work, fit together and match the profile",
        ("rdma", "gpu", "net"),
        rdma.ports,
    ),
    _rule_check("gids", "one RoCE v2 entry that NCCL finds", ("rdma", "net"), rdma.gids),
    Check("rails", "the same port in the same network on all nodes", rdma.rails, ("rdma", "net")),
    _node_check("counters", "few errors on the ranks' ports", rdma.counters, ("rdma",), "warn"),
    _rule_check("interface", "each node knows its interface towards the head", ("net",)),
    _rule_check("environment", "the inventory's variables do not contradict each other", ("rdma", "gpu", "net")),
    _node_check("iommu", "no IOMMU between GPUs and adapters", kernel.iommu, ("kernel", "gpu", "rdma"), "warn"),
    _node_check(
        "kernel log", "no error of a GPU or an adapter in this boot", kernel.kernel_log, ("kernel_log",), blind="warn"
    ),
    _node_check("memlock", "the ranks may lock the memory RDMA needs", host.memlock, ("limits", "rdma")),
    _node_check("disks", "file systems that a run writes to have space and can be written", host.disks, ("disk",)),
    _node_check("shm", "/dev/shm is large enough for GPUs", host.shm, ("container", "gpu"), "warn"),
    _node_check("swap", "no swap on nodes with GPUs", host.swap, ("memory", "gpu"), "warn"),
    Check("memory", "as much memory as the peers", host.memory, ("memory",)),
    _node_check("clock", "the clock is right", host.clock, ("clock",)),
    Check("names", "names have the same addresses everywhere, none of them loopback", host.names, ("names",)),
    _node_check("lookups", "names and addresses are looked up in less than a second", host.lookups, ("names",), "warn"),
    Check(
        "rendezvous",
        "the address where the ranks meet is in the cluster's own network",
        network.rendezvous,
        ("net",),
    ),
    Check("port", "a port for the ranks is free on the head", network.port, ("net",)),
    Check("reach", "every node reaches the head, and accepts connections of others", reach.reach, ("reach",)),
    _node_check(
        "socket interface",
        "interfaces that the inventory names exist and are up",
        network.socket_interface,
        ("interfaces",),
    ),
    _node_check("engine", "the container engine answers, with compose", container.engine, ("engine",)),
    _node_check("compose file", "the compose file exists", container.compose_file, ("files",)),
    Check("image", "the same image on every node", container.image, ("engine",)),
    _node_check("apptainer", "Apptainer runs the image, which has what the ranks need", apptainer.apptainer),
    _node_check("binds", "everything is there that is bound into the image", apptainer.binds),
    _node_check("privileged", "containers are not privileged", container.privileged, (), "warn"),
    *(
        Check(prop.name, prop.description, prop.compare, (prop.subset,), prop.level)
        for prop in PROPERTIES
        if prop is not IMAGE
    ),
)
BY_NAME = {check.name: check for check in CHECKS}
NAMES = tuple(BY_NAME)


def lowered(finding: Finding, level: Level) -> Finding:
    """Turn a failure into a warning if that is the level. An error stays one: nothing is known."""
    return dataclasses.replace(finding, status="warn") if level == "warn" and finding.status == "fail" else finding


def level_of(check: Check, policy: CheckPolicy) -> Level:
    return policy.levels.get(check.name, check.level)


def run(cluster: Cluster, gathered: Collection[str] | None = None) -> list[Result]:
    """Run all checks that are not off; gathered: only those whose facts are among these."""
    results = []
    for check in CHECKS:
        level = level_of(check, cluster.checks)
        if level == "off" or (gathered is not None and not set(check.needs) <= set(gathered)):
            continue
        for node, outcome in check.judge(cluster):
            finding = Finding(check.name, node, **vars(outcome))
            lenient = outcome.status == "error" and check.name not in cluster.checks.levels and check.blind == "warn"
            results.append(Result(lowered(finding, level), "warn" if lenient else level))
    return results


def exit_code(results: list[Result]) -> int:
    """Return 0: no problem, 1: a check failed, 2: a required check could not run. A failure takes precedence."""
    if any(result.finding.status == "fail" for result in results):
        return 1
    return 2 if any(result.finding.status == "error" and result.level == "fail" for result in results) else 0
