# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: everything a launch will do on every node, as data.

A pure function of all nodes' facts, the cluster's policy and the run's parameters: no clock, no file, no environment.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Rendezvous
from ansible_collections.muster.train.plugins.module_utils._records.node import Net

from .._checks import agreement, file_agreement, launch
from .._checks.gpu_findings import find_gpus
from .._checks.model import Cluster, Launch
from .._checks.policy import BY_DEFAULT, CheckPolicy
from .._cluster import head_address, ports
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy, check_alike
from .._findings.finding import Finding, PlanError
from .._nccl import variable_layers
from .._nccl.environments import make as make_environments
from . import ranks
from .job import Run, job_of
from .launchers.registry import LAUNCHERS
from .runtimes.registry import RUNTIMES

SCHEMA = 1

# Of the request, what the plan keeps as it is.
KEPT = ("run_id", "nonce", "created", "parameters", "experiment", "command", "controller", "versions")


def make_plan(
    request: Mapping[str, Any],
    policy: ClusterPolicy,
    nodes: Sequence[Node],
    spares: int = 0,
    checks: CheckPolicy = BY_DEFAULT,
) -> dict[str, Any]:
    """Make the plan of a run on these nodes, the head first; raise PlanError with everything that stands against it.

    The last ones, so many, are spares: they get a job too, and no ranks.
    """
    settings = request["parameters"]
    findings = _check(settings, policy, nodes, checks, request["call"])
    nets = {node.name: node.facts.net for node in nodes if node.facts.net is not None}
    if not nodes or len(nets) < len(nodes) or settings["launcher"]["value"] not in LAUNCHERS:
        _stop_at(
            launch.levelled(findings, checks.levels)
        )  # and here is where it stops: without these nothing more can be decided
    decided = _decide(request, policy, nodes, nets)
    findings += decided.findings
    names = [node.name for node in nodes]
    seated, waiting = names[: len(names) - spares], names[len(names) - spares :]
    world_size = len(seated) * decided.count.nproc
    run = Run(
        run_id=request["run_id"],
        nonce=request["nonce"],
        created=request["created"],
        settings=settings,
        policy=policy,
        nodes=seated,
        spares=waiting,
        world_size=world_size,
        rendezvous=Rendezvous(decided.address.value, decided.port.number),
    )
    machines = {node.name: agreement.machine(node.name, node.facts) for node in nodes}
    nodes_on = Counter(machines[name] for name in seated)
    ranks_on_machine = {name: max(1, nodes_on[machine]) * decided.count.nproc for name, machine in machines.items()}
    seen = [dataclasses.replace(node, facts=RUNTIMES[policy.runtime].as_ranks_see_it(node.facts)) for node in nodes]
    environments = make_environments(seen, settings, policy.env, decided.address.value, ranks_on_machine)
    findings += environments.findings
    jobs = {
        node.name: job_of(run, node, place, environments.nodes[node.name].variables).to_dict()
        for node, place in zip(nodes, ranks.place(names, decided.count.nproc), strict=True)
    }
    findings = launch.levelled(findings, checks.levels)
    _stop_at(findings)
    head = nodes[0]
    return {
        "schema": SCHEMA,
        **{name: request[name] for name in KEPT},
        "nodes": seated,
        "spares": waiting,
        "head": {"node": head.name, "address": decided.address.value, "reason": decided.address.reason},
        "nnodes": len(seated),
        "nproc": decided.count.nproc,
        "nproc_reason": decided.count.reason,
        "world_size": world_size,
        "fabric": dataclasses.asdict(environments.fabric),
        "master_port": decided.port.number,
        "port_reason": decided.port.reason,
        "code": _code(head),
        "findings": [finding.to_dict() for finding in findings],
        "not_set": {
            name: [dataclasses.asdict(each) for each in environment.not_set]
            for name, environment in environments.nodes.items()
        },
        "jobs": jobs,
    }


@dataclasses.dataclass(frozen=True)
class _Decided:
    """What is decided once for all nodes, and what was found on the way."""

    count: ranks.Count
    address: head_address.Address
    port: ports.Port
    findings: list[Finding]


def _decide(
    request: Mapping[str, Any], policy: ClusterPolicy, nodes: Sequence[Node], nets: Mapping[str, Net]
) -> _Decided:
    head, settings = nodes[0], request["parameters"]
    nproc, port = settings["nproc"], settings["master_port"]
    gpus = {node.name: node.gpu.count if node.gpu else None for node in nodes}
    together = agreement.share_network({node.name: node.facts for node in nodes})
    on_head = nets[head.name]
    count, of_count = ranks.count(nproc["value"], nproc["origin"], gpus)
    address, of_address = head_address.choose_address(head.name, policy.head_address, head.address, on_head, together)
    restarts = settings["max_restarts"]["value"]
    number, of_port = ports.pick(
        port["value"], port["origin"], policy.port_range, request["nonce"], head.name, on_head, restarts
    )
    return _Decided(count, address, number, [*of_count, *of_address, *of_port])


def _check(
    settings: variable_layers.Settings,
    policy: ClusterPolicy,
    nodes: Sequence[Node],
    checks: CheckPolicy,
    call: str | None,
) -> list[Finding]:
    """Check the launch against what the nodes say, whatever the plan will be."""
    facts = {node.name: node.facts for node in nodes}
    files = {what: settings[what] for what in ("script", "config") if settings[what]["value"] is not None}
    findings = [] if nodes else [_no_nodes()]
    if settings["launcher"]["value"] not in LAUNCHERS:
        findings.append(_unknown_launcher(settings["launcher"]))
    findings += check_alike({node.name: node.policy for node in nodes})
    findings += agreement.check_known(facts, files=bool(files))
    findings += agreement.check_machines(facts)
    findings += agreement.check_filesystems(facts)
    findings += agreement.check_directories(facts)
    findings += agreement.check_slot(facts, policy.slot, call)
    torchrun = settings["launcher"]["value"] == "torchrun"
    elsewhere = _sent_elsewhere(settings, policy, nodes)
    findings += RUNTIMES[policy.runtime].check(policy, facts, torchrun, elsewhere)
    findings += [found for node in nodes if node.gpu is not None for found in find_gpus(node.name, node.gpu)]
    findings += launch.fast(_checked(settings, policy, nodes, checks, call), checks.levels)
    for what, setting in files.items():
        findings += file_agreement.check_file(facts, what, setting["value"], setting["origin"])
    if "config" in files:
        findings += file_agreement.check_config(facts, files["config"]["origin"])
    return findings


def _checked(
    settings: variable_layers.Settings,
    policy: ClusterPolicy,
    nodes: Sequence[Node],
    checks: CheckPolicy,
    call: str | None,
) -> Cluster:
    """Return the nodes as preflight's checks look at them."""
    seen = RUNTIMES[policy.runtime].as_ranks_see_it
    return Cluster(
        nodes={node.name: dataclasses.replace(node, facts=seen(node.facts)) for node in nodes},
        expected=checks.expected,
        thresholds=checks.thresholds,
        launch=Launch(
            launcher=str(settings["launcher"]["value"]),
            call=call,
        ),
        policy=policy,
    )


def _sent_elsewhere(settings: variable_layers.Settings, policy: ClusterPolicy, nodes: Sequence[Node]) -> list[str]:
    """Name the nodes whose ranks get variables such as PYTHONPATH from anywhere."""
    common = [policy.env, settings["env"]["value"]]
    return [
        node.name
        for node in nodes
        for values in [*common, *(values for values, _origin in node.layers)]
        if isinstance(values, Mapping) and any(str(name).startswith("PYTHON") for name in values)
    ]


def _stop_at(findings: Sequence[Finding]) -> None:
    stopping = [finding for finding in findings if finding.stops]
    if stopping:
        raise PlanError(stopping)


def _code(head: Node) -> dict[str, Any] | None:
    code = head.facts.code
    if code is None:
        return None
    return {name: getattr(code, name) for name in ("path", "commit", "branch", "dirty", "changes")}


def _no_nodes() -> Finding:
    return Finding(
        check="nodes",
        node=None,
        status="fail",
        observed="the launch has no node",
        expected="at least one host in the group nodes",
        source="inventory",
        remedy="add hosts to the group nodes, or choose another inventory with -i",
    )


def _unknown_launcher(launcher: Mapping[str, Any]) -> Finding:
    return Finding(
        check="launcher",
        node=None,
        status="fail",
        observed=f"{launcher['value']} is unknown",
        expected=f"one of {', '.join(LAUNCHERS)}",
        source=launcher["origin"],
        remedy="choose one with -e launcher=NAME",
    )
