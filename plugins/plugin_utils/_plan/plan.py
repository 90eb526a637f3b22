# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: everything a launch will do on every node, as data.

A pure function of all nodes' facts, the cluster's policy and the run's parameters: no clock, no file, no environment.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Rendezvous
from ansible_collections.muster.train.plugins.module_utils._records.node import Net

from .._checks import launch
from .._checks.model import Cluster, Launch
from .._checks.policy import BY_DEFAULT, CheckPolicy
from .._cluster import head_address, ports
from .._cluster.machines import machine as machine_of
from .._cluster.machines import share_network
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy, check_alike
from .._findings.finding import Finding, PlanError
from .._nccl.environments import make as make_environments
from .._nccl.environments import users_of
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
    findings = _check(request, policy, nodes, checks)
    nets = {node.name: node.facts.net for node in nodes if node.facts.net is not None}
    if not nodes or len(nets) < len(nodes) or settings["launcher"]["value"] not in LAUNCHERS:
        _stop_at(findings)  # and here is where it stops: without these nothing more can be decided
    decided = _decide(request, policy, nodes, nets)
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
    machines = {node.name: machine_of(node.name, node.facts) for node in nodes}
    nodes_on = Counter(machines[name] for name in seated)
    ranks_on_machine = {name: max(1, nodes_on[machine]) * decided.count.nproc for name, machine in machines.items()}
    seen = [dataclasses.replace(node, facts=RUNTIMES[policy.runtime].as_ranks_see_it(node.facts)) for node in nodes]
    environments = make_environments(seen, settings, policy.env, decided.address.value, ranks_on_machine)
    findings += launch.with_levels([*decided.findings, *environments.findings], checks)
    jobs = {
        node.name: job_of(run, node, place, environments.nodes[node.name].variables).to_dict()
        for node, place in zip(nodes, ranks.place(names, decided.count.nproc), strict=True)
    }
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
    together = share_network({node.name: node.facts for node in nodes})
    on_head = nets[head.name]
    count, of_count = ranks.count(nproc["value"], nproc["origin"], gpus)
    address, of_address = head_address.choose_address(head.name, policy.head_address, head.address, on_head, together)
    restarts = settings["max_restarts"]["value"]
    number, _of_its_check = ports.pick(
        port["value"], port["origin"], policy.port_range, request["nonce"], head.name, on_head, restarts
    )
    return _Decided(count, address, number, [*of_count, *of_address])


def _check(
    request: Mapping[str, Any], policy: ClusterPolicy, nodes: Sequence[Node], checks: CheckPolicy
) -> list[Finding]:
    """Check the launch against what the nodes say, whatever the plan will be."""
    settings = request["parameters"]
    files = {
        what: (str(setting["value"]), setting["origin"])
        for what in ("script", "config")
        if (setting := settings[what])["value"] is not None
    }
    findings = [] if nodes else [_no_nodes()]
    if settings["launcher"]["value"] not in LAUNCHERS:
        findings.append(_unknown_launcher(settings["launcher"]))
    findings += check_alike({node.name: node.policy for node in nodes})
    needed = ("net", "code", *(["files"] if files else []))
    findings += [_unknown(node, part) for node in nodes for part in needed if getattr(node.facts, part) is None]
    users, port = users_of(settings, policy.env), settings["master_port"]
    cluster = Cluster(
        nodes={node.name: node for node in nodes},
        layers=[*users.cluster, *users.run],
        checks=checks,
        policy=policy,
        launch=Launch(
            launcher=str(settings["launcher"]["value"]),
            port=port["value"],
            port_origin=port["origin"],
            nonce=request["nonce"],
            restarts=settings["max_restarts"]["value"],
            files=files,
            call=request["call"],
        ),
    )
    return findings + launch.fast(cluster)


def _stop_at(findings: Sequence[Finding]) -> None:
    stopping = [finding for finding in findings if finding.stops]
    if stopping:
        raise PlanError(stopping)


def _code(head: Node) -> dict[str, Any] | None:
    code = head.facts.code
    if code is None:
        return None
    return {name: getattr(code, name) for name in ("path", "commit", "branch", "dirty", "changes")}


def _unknown(node: Node, part: str) -> Finding:
    workdir = f"workdir={node.facts.workdir.path}"
    return Finding(
        check="facts",
        node=node.name,
        status="error",
        observed=f"nothing is known about {part}",
        expected=f"facts {part}",
        source="module node_facts",
        remedy="ask the node with "
        + shlex.join(["ansible", node.name, "-m", "muster.train.node_facts", "-a", workdir]),
    )


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
