# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks: what each looks for, its level, the facts it needs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping

from .._cluster.node import Node
from .._findings.finding import Finding
from . import code, container, files, gpu, host, kernel, network, nodes, rdma, start
from .check import Check, Result, each_node, lowered
from .comparison import compare
from .model import Cluster, Level, Looks, Seen, completed, seen_of
from .properties import IMAGE, PROPERTIES


def _environment(cluster: Cluster) -> Looks:
    """Tell what the environment's rules found that is no other check's."""
    found = [
        (each.node, dataclasses.replace(seen_of(each), observed=f"{named}{each.observed}"))
        for each in cluster.decided
        if each.check not in RULES
        for named in ["" if each.check == "environment" else f"{each.check}: "]
    ]
    return completed(cluster, found, lambda node: rdma.rules(node, cluster))


def _decided(
    name: str, description: str, needs: tuple[str, ...], rules: tuple[str, ...], well: Callable[[Node, Cluster], Seen]
) -> Check:
    """Make a check of what the environment's rules find under these names."""
    return Check(name, description, "fail", rdma.decided(rules, well), needs, rules=rules)


CHECKS: tuple[Check, ...] = (
    Check("answer", "the node answers Ansible", "fail", nodes.answer),
    Check("node", "one name and one address for each machine", "fail", nodes.machines),
    Check("work directory", "it can be written, and is each node's own", "fail", nodes.work_directory),
    each_node("code directory", "the directory with the code is there", "fail", code.code_directory, ("code",)),
    Check("code", "one commit, one branch, the same changes", "fail", code.code, ("code",)),
    Check("files", "script and configuration are there and the same", "fail", files.files, ("files",)),
    each_node("python interpreter", "the training interpreter is there", "fail", start.python),
    each_node("torch installed", "torchrun's PyTorch is there", "fail", start.torch, ("versions",)),
    each_node("starter", "systemd takes units, where it is asked for", "fail", start.starter),
    each_node("slot", "no other run holds the slot", "fail", start.slot, ("slot",)),
    each_node(
        "leftovers",
        "no process of an earlier run",
        "warn",
        start.leftovers,
        ("processes", "slot"),
    ),
    each_node("hung", "no process hangs in the kernel", "fail", start.hung, ("processes",)),
    each_node("sudo", "the user becomes root without a password", "warn", start.sudo, ("sudo",)),
    Check("gpus", "no GPU fell off the bus or off the fabric, all of one kind", "fail", gpu.gpus, ("gpu",)),
    each_node("ecc", "ECC is on, no uncorrected error", "fail", gpu.ecc, ("gpu", "gpu_health")),
    each_node(
        "gpu memory",
        "no failed or pending row remap, no bad page",
        "fail",
        gpu.memory_rows,
        ("gpu", "gpu_health"),
    ),
    each_node("nvlink", "every NVLink is up", "fail", gpu.nvlink, ("gpu", "gpu_health")),
    each_node(
        "fabric manager",
        "it runs where there are NVSwitches",
        "fail",
        gpu.fabric_manager,
        ("gpu", "gpu_health"),
    ),
    each_node("gpu state", "no GPU asks for a reset", "fail", gpu.trouble, ("gpu", "gpu_health")),
    each_node(
        "throttling",
        "no GPU is slowed by heat or power",
        "warn",
        gpu.throttle,
        ("gpu", "gpu_health"),
    ),
    each_node(
        "persistence",
        "the driver stays loaded",
        "warn",
        gpu.persistence,
        ("gpu", "gpu_health"),
    ),
    each_node(
        "pcie",
        "links of GPUs and adapters are as wide as they can be",
        "fail",
        gpu.pcie,
        ("gpu", "rdma", "gpu_health"),
    ),
    each_node(
        "gpu processes",
        "nobody else uses the GPUs",
        "fail",
        gpu.processes,
        ("gpu", "processes"),
    ),
    each_node(
        "device files",
        "device nodes can be opened",
        "fail",
        rdma.device_files,
        ("devices", "gpu", "rdma"),
    ),
    _decided(
        "rdma ports",
        "the ranks' ports work, fit together and are as the profile says",
        ("rdma", "gpu", "net"),
        ("hcas", "fabric"),
        rdma.ports,
    ),
    _decided("gids", "one RoCE v2 entry that NCCL finds", ("rdma", "net"), ("gid",), rdma.gids),
    Check("rails", "the same port in the same network on all nodes", "fail", rdma.rails, ("rdma", "net")),
    each_node("counters", "few errors on the ranks' ports", "warn", rdma.counters, ("rdma",)),
    _decided("interface", "the way to the head is known", ("net",), ("interface", "head address"), rdma.rules),
    Check(
        "environment",
        "the inventory's variables do not contradict each other",
        "fail",
        _environment,
        ("rdma", "gpu", "net"),
    ),
    each_node(
        "iommu",
        "no IOMMU between GPUs and adapters",
        "warn",
        kernel.iommu,
        ("kernel", "gpu", "rdma"),
    ),
    each_node(
        "kernel log",
        "no error of a GPU or an adapter in this boot",
        "fail",
        kernel.kernel_log,
        ("kernel_log",),
        blind="warn",
    ),
    each_node(
        "memlock",
        "the ranks may lock the memory RDMA needs",
        "fail",
        host.memlock,
        ("limits", "rdma"),
    ),
    each_node(
        "disks",
        "the file systems written to have space and can be written",
        "fail",
        host.disks,
        ("disk",),
    ),
    each_node("shm", "/dev/shm is large enough for GPUs", "warn", host.shm, ("container", "gpu")),
    each_node("swap", "no swap on nodes with GPUs", "warn", host.swap, ("memory", "gpu")),
    Check("memory", "as much memory as the peers", "fail", host.memory, ("memory",)),
    each_node("clock", "the clock is right", "fail", host.clock, ("clock",)),
    Check(
        "names", "names stand for the same addresses everywhere, none of them loopback", "fail", host.names, ("names",)
    ),
    Check(
        "rendezvous",
        "the address where the ranks meet is one of the cluster's own network",
        "fail",
        network.rendezvous,
        ("net",),
    ),
    Check("port", "a port for the ranks is free on the head", "fail", network.port, ("net",)),
    each_node("reach", "every node reaches the head", "fail", network.reach, ("reach",)),
    each_node(
        "socket interface",
        "interfaces that the inventory names are there and up",
        "fail",
        network.socket_interface,
        ("interfaces",),
    ),
    each_node(
        "engine",
        "the container engine answers, with compose",
        "fail",
        container.engine,
        ("engine",),
    ),
    each_node("compose file", "the compose file is there", "fail", container.compose_file, ("files",)),
    Check("image", "the same image on every node", "fail", container.image, ("engine",)),
    each_node("privileged", "containers are not privileged", "warn", container.privileged),
    *(
        Check(each.name, each.description, each.level, functools.partial(compare, each=each), (each.part,))
        for each in PROPERTIES
        if each is not IMAGE
    ),
)
# Under which names decisions about the environment find what is a check's.
RULES = {rule: check for check in CHECKS for rule in check.rules}
NAMES = tuple(check.name for check in CHECKS)


def run(cluster: Cluster, levels: Mapping[str, Level], gathered: Collection[str] | None = None) -> list[Result]:
    """Run all checks that are not off; gathered: only those whose facts are among these."""
    results = []
    for check in CHECKS:
        level = levels.get(check.name, check.level)
        if level == "off" or (gathered is not None and not set(check.needs) <= set(gathered)):
            continue
        for node, seen in check.look(cluster):
            found = Finding(check.name, node, **vars(seen))
            blind = seen.status == "error" and check.name not in levels and check.blind == "warn"
            results.append(Result(lowered(found, level), "warn" if blind else level))
    return results
