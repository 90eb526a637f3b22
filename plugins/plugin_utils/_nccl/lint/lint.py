# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of the ranks' environment: what the values that users set would really do.

A user's value always wins; findings say what comes of it. Only what cannot both be meant stops a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from ..._findings.finding import Finding, Status
from ..._findings.origin import DEFAULT, FOR_ONE_RUN
from ..._findings.remedy import Option, sentence
from .. import known_variables, tuning
from ..fabric import Fabric
from ..grammar import parse
from ..ports import openable
from ..view import FabricPolicy, NodeView
from . import list_rules, value_rules
from .list_rules import Fault

CHECK = "environment"
AUTO = FabricPolicy("auto", DEFAULT)

# NCCL's guide, section "Debugging": not to be kept in production.
DEBUGGING = known_variables.nccl("""
    ALGO PROTO BUFFSIZE NTHREADS MIN_NCHANNELS MAX_NCHANNELS P2P_LEVEL P2P_DISABLE P2P_DIRECT_DISABLE SHM_DISABLE
    NET_GDR_LEVEL NET_GDR_READ IB_PCI_RELAXED_ORDERING IB_QPS_PER_CONNECTION IB_SPLIT_DATA_ON_QPS IB_AR_THRESHOLD
    PXN_DISABLE P2P_NET_CHUNKSIZE CUMEM_ENABLE""")
# What must be the same on all nodes: ranks that do otherwise do not meet, or hang.
ALIKE = known_variables.nccl("""
    ALGO PROTO BUFFSIZE NTHREADS MIN_NCHANNELS MAX_NCHANNELS MIN_CTAS MAX_CTAS IB_DISABLE NET NET_PLUGIN CROSS_NIC
    IB_ROCE_VERSION_NUM IB_ADDR_FAMILY P2P_NET_CHUNKSIZE""")


def lint(
    node: NodeView,
    environment: Sequence[Variable],
    fabric: Fabric,
    policy: FabricPolicy = AUTO,
) -> list[Finding]:
    """Check a node's merged environment."""
    values = {variable.name: variable for variable in environment if _looked_at(variable.name)}
    findings = [
        _finding(node.name, variable, fault)
        for variable in values.values()
        if not variable.rule
        for fault in _faults(node, variable, values)
    ]
    for least, most in value_rules.least_and_most(values):
        findings.append(_contradiction(node.name, least, most))
    findings += _without_rdma(node, values, fabric, policy)
    findings += _not_disabled(node, values.get("NCCL_IB_DISABLE"), fabric)
    findings += _left_on(node.name, values.values())
    return findings


def lint_cluster(environments: Mapping[str, Sequence[Variable]]) -> list[Finding]:
    """Find variables that users set to different values on nodes that must do the same."""
    findings = []
    for name in sorted(ALIKE):
        by_node = {
            node: next((variable for variable in environment if variable.name == name), None)
            for node, environment in environments.items()
        }
        set_by_user = [variable for variable in by_node.values() if variable is not None and not variable.rule]
        values = {variable.value if variable else None for variable in by_node.values()}
        if not set_by_user or len(values) < 2:
            continue
        head = next(iter(by_node.values()))
        for node, variable in by_node.items():
            if (variable.value if variable else None) != (head.value if head else None):
                findings.append(_differs(node, name, variable, head))
    return findings


def _faults(node: NodeView, variable: Variable, values: Mapping[str, Variable]) -> list[Fault]:
    name, value = variable.name, variable.value
    of_libraries = [known_variables.fault(name, library) for library in tuning.libraries(node)]
    if all(of_libraries):
        return [(of_libraries[0] or "", "a variable that this library reads", "take it out, or correct its name")]
    faults = [*value_rules.numbers(name, value), *value_rules.out_of_range(node, name, value)]
    check = list_rules.CHECKS.get(name)
    if check is not None:
        faults += check(node, variable)
    elif name in value_rules.LEVELS and value:
        faults += value_rules.level(node, name, value)
    elif name == "NCCL_IB_GID_INDEX":
        hca = values.get("NCCL_IB_HCA")
        devices = parse(hca.value if hca else "", node.library.version)
        ports = [each for each in openable(node.rdma) if devices.takes(each.hca.name, each.port.port)]
        faults += value_rules.gid_index(node, value, ports)
    else:
        faults += value_rules.words(name, value)
    return faults


def _looked_at(name: str) -> bool:
    return name.upper().startswith(known_variables.PREFIXES)


def _finding(node: str, variable: Variable, fault: Fault, status: Status = "warn") -> Finding:
    observed, expected, remedy = fault
    return Finding(
        check=CHECK,
        node=node,
        status=status,
        observed=f"{variable.name}={variable.value}: {observed}",
        expected=expected,
        source=variable.origin,
        remedy=f"{remedy}; it is used as set",
    )


def _contradiction(node: str, least: Variable, most: Variable) -> Finding:
    return Finding(
        check=CHECK,
        node=node,
        status="fail",
        observed=f"{_shown(least)} is more than {_shown(most)}",
        expected=f"{least.name} <= {most.name}",
        source=", ".join(dict.fromkeys([least.origin, most.origin])),
        remedy=sentence("take one of them out, or ", Option.CHANNELS),
    )


def _without_rdma(
    node: NodeView, values: Mapping[str, Variable], fabric: Fabric, policy: FabricPolicy
) -> list[Finding]:
    """Find what keeps NCCL off RDMA where RDMA was decided: under mode=rdma it cannot be meant."""
    disable, hcas = values.get("NCCL_IB_DISABLE"), values.get("NCCL_IB_HCA")
    if fabric.value != "rdma":
        return []
    guilty = []
    if disable is not None and value_rules.is_on(disable.value):
        guilty.append(disable)
    elif hcas is not None and list_rules.nothing(node, hcas):
        guilty.append(hcas)
    forbids = f"forbids what mode=rdma ({policy.origin}) asks for"
    silently = "NCCL falls back to TCP on this node, while the cluster has RDMA"
    return [
        Finding(
            check=CHECK,
            node=node.name,
            status="fail" if policy.mode == "rdma" else "warn",
            observed=f"{_shown(variable)} {forbids if policy.mode == 'rdma' else f'leaves no RDMA device: {silently}'}",
            expected="RDMA",
            source=variable.origin,
            remedy=sentence(f"take {variable.name} out, or ", Option.MODE_TCP),
        )
        for variable in guilty
    ]


def _not_disabled(node: NodeView, disable: Variable | None, fabric: Fabric) -> list[Finding]:
    """Find a switch that is off: it lets NCCL use RDMA where TCP was decided for all nodes, else it does nothing."""
    if disable is None or disable.rule or value_rules.is_on(disable.value):
        return []
    if fabric.value != "rdma":
        fault = ("it leaves RDMA on, on this node, where tcp was decided for all", "1, or unset", "take it out")
    elif value_rules.integer(disable.value) == 0:
        fault = ("0 is the default; it does nothing but hide a 1 from elsewhere", "unset", "take it out")
    else:
        return []
    return [_finding(node.name, disable, fault)]


def _left_on(node: str, variables: Iterable[Variable]) -> list[Finding]:
    """Name the debugging variables that the inventory keeps set."""
    left = [
        variable
        for variable in variables
        if variable.name in DEBUGGING and not variable.rule and variable.layer not in FOR_ONE_RUN
    ]
    if not left:
        return []
    return [
        Finding(
            check=CHECK,
            node=node,
            status="warn",
            observed=f"set for every run: {', '.join(f'{each.name}={each.value}' for each in left)}",
            expected="unset: NCCL's guide lists them as debugging, which newer versions may do worse with",
            source=", ".join(dict.fromkeys(each.origin for each in left)),
            remedy="take them out, or give them with -e for the runs that need them",
        )
    ]


def _differs(node: str, name: str, variable: Variable | None, head: Variable | None) -> Finding:
    return Finding(
        check=CHECK,
        node=node,
        status="warn",
        observed=f"{_shown(variable) if variable else f'{name} is not set'}",
        expected=f"the same as on the head: {_shown(head) if head else 'not set'}",
        source=next((each.origin for each in (variable, head) if each), ""),
        remedy=sentence(f"set {name} for all nodes alike, in ", Option.ENV),
    )


def _shown(variable: Variable) -> str:
    return f"{variable.name}={variable.value} ({variable.origin})"
