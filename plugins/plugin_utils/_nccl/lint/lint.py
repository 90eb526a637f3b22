# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of the ranks' environment: the actual effect of the values that users set.

A user's value always wins; findings describe its effect. Only values that contradict each other stop a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records import nccl_values
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from ..._findings.finding import Finding, Status
from ..._findings.origin import DEFAULT, FOR_ONE_RUN
from ..._findings.remedy import Option, sentence
from .. import known_variables, tuning
from ..grammar import parse
from ..inherited import INHERITED
from ..ports import openable
from ..view import Fabric, FabricPolicy, NodeView
from . import list_rules, value_rules
from .list_rules import Fault

CHECK = "environment"
AUTO = FabricPolicy("auto", DEFAULT)

# NCCL's guide, section "Debugging": not for production.
DEBUGGING = known_variables.nccl("""
    ALGO PROTO BUFFSIZE NTHREADS MIN_NCHANNELS MAX_NCHANNELS P2P_LEVEL P2P_DISABLE P2P_DIRECT_DISABLE SHM_DISABLE
    NET_GDR_LEVEL NET_GDR_READ IB_PCI_RELAXED_ORDERING IB_QPS_PER_CONNECTION IB_SPLIT_DATA_ON_QPS IB_AR_THRESHOLD
    PXN_DISABLE P2P_NET_CHUNKSIZE CUMEM_ENABLE""")
# Not for debugging on a VM: GPUDirect RDMA goes by address translation (ATS) there, which is slow without it; Azure's
# images set it in nccl.conf.
NEEDED_ON_VMS = ("NCCL_IB_PCI_RELAXED_ORDERING",)
# Must be the same on all nodes; otherwise ranks cannot connect, or hang.
ALIKE = known_variables.nccl("""
    ALGO PROTO BUFFSIZE NTHREADS MIN_NCHANNELS MAX_NCHANNELS MIN_CTAS MAX_CTAS IB_DISABLE NET NET_PLUGIN CROSS_NIC
    IB_ROCE_VERSION_NUM IB_ADDR_FAMILY P2P_NET_CHUNKSIZE""")


def lint(node: NodeView, environment: Sequence[Variable], fabric: Fabric, policy: FabricPolicy = AUTO) -> list[Finding]:
    """Check a node's merged environment."""
    prefixes = known_variables.PREFIXES
    values = {variable.name: variable for variable in environment if variable.name.upper().startswith(prefixes)}
    findings = [
        _finding(node.name, variable, fault)
        for variable in values.values()
        if not variable.rule
        for fault in _faults(node, variable, values)
    ]
    findings += [_contradiction(node.name, least, most) for least, most in value_rules.least_and_most(values)]
    findings += _without_rdma(node, values, fabric, policy)
    findings += _not_disabled(node, values.get("NCCL_IB_DISABLE"), fabric)
    of_vm = NEEDED_ON_VMS if node.gpu is not None and node.gpu.virtual else ()
    findings += _debugging(node.name, [item for item in values.values() if item.name not in of_vm])
    return findings


def lint_cluster(environments: Mapping[str, Sequence[Variable]]) -> list[Finding]:
    """Return variables that users set to different values on nodes that must have the same, and what ranks inherit."""
    findings = []
    by_node = {node: {item.name: item for item in environment} for node, environment in environments.items()}
    inherited = {item.name for by_name in by_node.values() for item in by_name.values() if item.layer in INHERITED}
    for name in sorted(ALIKE | inherited):
        variables = {node: by_name.get(name) for node, by_name in by_node.items()}
        if not any(variable is not None and not variable.rule for variable in variables.values()):
            continue
        head = next(iter(variables.values()))
        for node, variable in variables.items():
            if (variable.value if variable else None) != (head.value if head else None):
                findings.append(_differs(node, name, variable, head))
    return findings


def _faults(node: NodeView, variable: Variable, values: Mapping[str, Variable]) -> list[Fault]:
    name, value = variable.name, variable.value
    unread = [known_variables.fault(name, library) for library in tuning.libraries(node)]
    if all(unread):
        return [(unread[0] or "", "a variable that this library reads", "remove it, or correct its name")]
    faults = [*value_rules.numbers(name, value), *value_rules.out_of_range(node, name, value)]
    check = list_rules.CHECKS.get(name)
    if check is not None:
        faults += check(node, variable)
    elif name in nccl_values.LEVELS and value:
        faults += value_rules.level(node, name, value)
    elif name == "NCCL_IB_GID_INDEX":
        hca = values.get("NCCL_IB_HCA")
        devices = parse(hca.value if hca else "", node.library.version)
        ports = [item for item in openable(node.rdma) if devices.takes(item.hca.name, item.port.port)]
        faults += value_rules.gid_index(node, value, ports)
    else:
        faults += value_rules.words(name, value)
    return faults


def _finding(node: str, variable: Variable, fault: Fault, status: Status = "warn") -> Finding:
    observed, expected, remedy = fault
    observed = f"{variable.name}={variable.value}: {observed}"
    return Finding(CHECK, node, status, observed, expected, variable.origin, f"{remedy}; it is used as set")


def _contradiction(node: str, least: Variable, most: Variable) -> Finding:
    observed = f"{_shown(least)} is more than {_shown(most)}"
    source = ", ".join(dict.fromkeys([least.origin, most.origin]))
    remedy = sentence("remove one of them, or ", Option.CHANNELS)
    return Finding(CHECK, node, "fail", observed, f"{least.name} <= {most.name}", source, remedy)


def _without_rdma(
    node: NodeView, values: Mapping[str, Variable], fabric: Fabric, policy: FabricPolicy
) -> list[Finding]:
    """Return what disables RDMA although the fabric is RDMA; under mode=rdma it is a contradiction."""
    disable, hcas = values.get("NCCL_IB_DISABLE"), values.get("NCCL_IB_HCA")
    if fabric.value != "rdma":
        return []
    if disable is not None and value_rules.is_on(disable.value):
        culprit = disable
    elif hcas is not None and list_rules.nothing(node, hcas):
        culprit = hcas
    else:
        return []
    status: Status = "fail" if policy.mode == "rdma" else "warn"
    effect = (
        f"contradicts mode=rdma ({policy.origin})"
        if policy.mode == "rdma"
        else "leaves no RDMA device: NCCL falls back to TCP on this node, while the cluster has RDMA"
    )
    remedy = sentence(f"remove {culprit.name}, or ", Option.MODE_TCP)
    return [Finding(CHECK, node.name, status, f"{_shown(culprit)} {effect}", "RDMA", culprit.origin, remedy)]


def _not_disabled(node: NodeView, disable: Variable | None, fabric: Fabric) -> list[Finding]:
    """Return NCCL_IB_DISABLE=0: it allows RDMA although the fabric is TCP on all nodes, else it has no effect."""
    if disable is None or disable.rule or value_rules.is_on(disable.value):
        return []
    if fabric.value != "rdma":
        fault = ("it leaves RDMA enabled on this node, although the fabric is tcp", "1, or unset", "remove it")
    elif nccl_values.integer(disable.value) == 0:
        fault = ("0 is the default; it only hides a 1 set elsewhere", "unset", "remove it")
    else:
        return []
    return [_finding(node.name, disable, fault)]


def _debugging(node: str, variables: Iterable[Variable]) -> list[Finding]:
    """Return the debugging variables that the inventory sets permanently."""
    kept = [item for item in variables if item.name in DEBUGGING and not item.rule and item.layer not in FOR_ONE_RUN]
    if not kept:
        return []
    observed = f"set for every run: {', '.join(f'{item.name}={item.value}' for item in kept)}"
    expected = "unset: NCCL's guide lists them for debugging, and with newer versions they may be harmful"
    source = ", ".join(dict.fromkeys(item.origin for item in kept))
    remedy = "remove them, or set them with -e for the runs that need them"
    return [Finding(CHECK, node, "warn", observed, expected, source, remedy)]


def _differs(node: str, name: str, variable: Variable | None, head: Variable | None) -> Finding:
    observed = f"{_shown(variable) if variable else f'{name} is not set'}"
    expected = f"the same as on the head: {_shown(head) if head else 'not set'}"
    source = next((item.origin for item in (variable, head) if item), "")
    remedy = sentence(f"set {name} to the same value on all nodes, in ", Option.ENV)
    return Finding(CHECK, node, "warn", observed, expected, source, remedy)


def _shown(variable: Variable) -> str:
    return f"{variable.name}={variable.value} ({variable.origin})"
