# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D8: the file that describes a VM's PCI topology.

Without it, every adapter of a VM looks far from every GPU, and NCCL does not use GPUDirect RDMA, silently.
"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .hcas import NEAR, HcaChoice
from .view import NodeView, NotSet, decided

RULE = "D8"
NAME = "NCCL_TOPO_FILE"


def resolve(node: NodeView, choice: HcaChoice) -> tuple[list[Variable], list[NotSet], list[Finding]]:
    """Name the file unless NCCL finds it by itself; report a VM whose ranks' ports are far from every GPU."""
    gpu = node.gpu
    if gpu is None or not gpu.count or NAME in node.user_values:
        return [], [], []
    file = gpu.topology_file
    if file is None:
        return [], [], _far(node, choice)
    if file.source is None:
        return [], [NotSet(NAME, RULE, f"NCCL finds {file.path} by itself")], []
    reason = f"the topology of this VM, known from {file.source}, which a container does not have"
    return [decided(NAME, file.path, RULE, reason)], [], []


def _far(node: NodeView, choice: HcaChoice) -> list[Finding]:
    gpu = node.gpu
    if gpu is None or not gpu.virtual or not choice.ports or not gpu.nic_links:
        return []
    names = set(choice.hcas)
    if any(link.relation in NEAR and gpu.nics.get(link.nic, link.nic) in names for link in gpu.nic_links):
        return []
    observed = "no GPU of this VM has an adapter of the ranks within PXB, so NCCL does not use GPUDirect RDMA"
    expected = "a topology file of the VM's kind, which clouds have for their VMs with GPUs"
    remedy = sentence(f"copy the cloud's file to the nodes, and set {NAME} to it in ", Option.ENV)
    return [Finding("environment", node.name, "warn", observed, expected, "facts gpu", remedy)]
