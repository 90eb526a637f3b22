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

from .._checks import launch
from .._checks.model import Cluster, Launch
from .._checks.policy import BY_DEFAULT, CheckPolicy
from .._cluster import ports
from .._cluster.head_name import decide_address
from .._cluster.machines import cpus_of
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy, check_alike
from .._cluster.profilers import input_of, profiler_of
from .._cluster.script import is_brought, is_program_name
from .._cluster.visible import visible
from .._findings.finding import Finding, PlanError
from .._findings.invocation import Invocation
from .._findings.remedy import sentence
from .._nccl.environments import make as make_environments
from .._nccl.environments import users_of
from .._request.settings import setting_values
from . import allocation, benchmark, outputs, pairs, profiling, ranks, transport
from .job import Run, job_of
from .launchers.registry import LAUNCHERS
from .runtimes.registry import RUNTIMES

SCHEMA = 1

# The parts of the request that the plan keeps as they are.
KEPT = (
    "run_id",
    "nonce",
    "created",
    "parameters",
    "experiment",
    "command",
    "cluster",
    "options",
    "controller",
    "versions",
)


def make_plan(
    request: Mapping[str, Any],
    policy: ClusterPolicy,
    nodes: Sequence[Node],
    spares: int = 0,
    checks: CheckPolicy = BY_DEFAULT,
) -> dict[str, Any]:
    """Make the plan of a run on these nodes, the head first; raise PlanError with everything that prevents it.

    The last `spares` nodes are spares: they get a job, too, but no ranks.
    """
    request = pairs.with_program(benchmark.with_program(request, nodes), nodes, len(nodes) - spares)
    request, findings = allocation.bound(request, policy)
    settings = request["parameters"]
    findings += _check(request, policy, nodes, checks)
    nets = {node.name: node.facts.net for node in nodes if node.facts.net is not None}
    if not nodes or len(nets) < len(nodes) or settings["launcher"]["value"] not in LAUNCHERS:
        _stop_at(findings)  # always raises here: nothing more can be decided without these
    head, facts = nodes[0], {node.name: node.facts for node in nodes}
    users = users_of(settings, policy.env)
    inside = RUNTIMES[policy.runtime].facts_inside_runtime
    views = [dataclasses.replace(node, facts=inside(node.facts)) for node in nodes]
    gpus = {node.name: len(visible(node.gpu, users.values(node))) if node.gpu else None for node in views}
    count, count_findings = ranks.count(settings["nproc"]["value"], settings["nproc"]["origin"], gpus)
    address, address_findings = decide_address(facts, policy.head_address, head.address)
    restarts, master_port = settings["max_restarts"]["value"], settings["master_port"]
    port, _checked_above = ports.pick(
        *(master_port["value"], master_port["origin"], policy.port_range, request["nonce"]),
        *(head.name, nets[head.name], restarts),
    )
    names = list(facts)
    active, waiting = names[: len(names) - spares], names[len(names) - spares :]
    machines = {name: cpus_of(name, facts[name]) for name in names}
    nodes_on = Counter(machines[name] for name in active)
    ranks_on_machine = {name: max(1, nodes_on[machine]) * count.nproc for name, machine in machines.items()}
    environments = make_environments(views, settings, policy.env, address.value, ranks_on_machine)
    proofs = transport.plan_of(settings, environments, len(active))
    findings += launch.with_levels([*count_findings, *address_findings, *environments.findings], checks)
    findings += proofs.findings
    run = Run(request, policy, active, waiting, count.nproc, Rendezvous(address.value, port.number))
    findings += profiling.check_ranks(settings, run.world_size)
    findings += benchmark.check(request, views, len(active), count.nproc)
    findings += pairs.check(request, views, len(active), count.nproc)
    jobs = {
        name: job_of(run, node, node_rank, environments.nodes[name].variables, proofs.proofs.get(name)).to_dict()
        for node_rank, (name, node) in enumerate(zip(names, nodes, strict=True))
    }
    _stop_at(findings)
    code = head.facts.code
    return {
        "schema": SCHEMA,
        **{name: request[name] for name in KEPT},
        "nodes": active,
        "spares": waiting,
        "head": {"node": head.name, "address": address.value, "reason": address.reason},
        "nnodes": len(active),
        "nproc": count.nproc,
        "nproc_reason": count.reason,
        "world_size": run.world_size,
        "fabric": dataclasses.asdict(environments.fabric),
        "master_port": port.number,
        "port_reason": port.reason,
        "code": code
        and {name: getattr(code, name) for name in ("path", "commit", "branch", "dirty", "changes", "tree")},
        "findings": [finding.to_dict() for finding in findings],
        "not_set": {
            name: [dataclasses.asdict(item) for item in environment.not_set]
            for name, environment in environments.nodes.items()
        },
        "jobs": jobs,
    }


def _check(
    request: Mapping[str, Any], policy: ClusterPolicy, nodes: Sequence[Node], checks: CheckPolicy
) -> list[Finding]:
    """Check the launch against the nodes' facts."""
    settings = request["parameters"]
    values = setting_values(settings)
    files = {
        what: (str(setting["value"]), setting["origin"])
        for what in ("script", "config", *(["rocprof_input"] if input_of(values) else []))
        if (setting := settings[what])["value"] is not None
        and not (what == "script" and is_program_name(settings["launcher"]["value"], setting["value"]))
        and not is_brought(setting["value"])
    }
    findings = [] if nodes else [_no_nodes()]
    if settings["launcher"]["value"] not in LAUNCHERS:
        findings.append(_unknown_launcher(settings["launcher"]))
    findings += check_alike({node.name: node.policy for node in nodes})
    needed = ("net", "code", *(["files"] if files else []))
    findings += [
        _unknown(node, part, request) for node in nodes for part in needed if getattr(node.facts, part) is None
    ]
    findings += outputs.check(policy.shared_output_dir, nodes)
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
            profiler=profiler_of(values),
            invocation=Invocation.of(request),
        ),
    )
    return findings + launch.fast(cluster)


def _stop_at(findings: Sequence[Finding]) -> None:
    stopping = [finding for finding in findings if finding.stops]
    if stopping:
        raise PlanError(stopping)


def _unknown(node: Node, part: str, request: Mapping[str, Any]) -> Finding:
    remedy = sentence("see why: ", Invocation.of(request).command("preflight"))
    return Finding("facts", node.name, "error", f"{part} is unknown", f"facts {part}", "module node_facts", remedy)


def _no_nodes() -> Finding:
    expected = "at least one host in the group nodes"
    remedy = "add hosts to the group nodes, or choose another inventory with -i"
    return Finding("nodes", None, "fail", "the launch has no node", expected, "inventory", remedy)


def _unknown_launcher(launcher: Mapping[str, Any]) -> Finding:
    observed = f"{launcher['value']} is unknown"
    remedy = "choose one with -e launcher=NAME"
    return Finding("launcher", None, "fail", observed, f"one of {', '.join(LAUNCHERS)}", launcher["origin"], remedy)
