# SPDX-License-Identifier: GPL-3.0-or-later
"""Spares: which one takes the rank of a node that the plan refuses.

The other nodes keep their ranks. If `max_restarts` allows another attempt, the remaining spares wait in the run for a
node to be lost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._checks.policy import BY_DEFAULT, CheckPolicy
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy
from .._findings.finding import Finding, PlanError
from .plan import make_plan


def plan_with_spares(
    request: Mapping[str, Any],
    policy: ClusterPolicy,
    known: Mapping[str, Node],
    silent: Mapping[str, Finding],
    checks: CheckPolicy = BY_DEFAULT,
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the plan, and a warning for each node or spare that is not in it; raise PlanError as `make_plan`.

    known are the nodes and spares that answered, silent has a finding for each one that did not.
    """
    nodes, spares = list(request["nodes"]), list(request["spares"])
    left_out: dict[str, Finding] = {}

    def plan_of(nodes: Sequence[str], waiting: Sequence[str] = ()) -> dict[str, Any]:
        names = [*nodes, *waiting]
        if missing := [silent[name] for name in names if name in silent]:
            raise PlanError(missing)
        return make_plan(request, policy, [known[name] for name in names], len(waiting), checks)

    while True:
        try:
            plan = plan_of(nodes)
            break
        except PlanError as error:
            refused = {finding.node: finding for finding in reversed(error.findings) if finding.stops}
            bad = [name for name in nodes if name in refused]
            # A spare cannot fix what is wrong with the whole cluster.
            fixed = nodes[0] in bad and _head_is_fixed(policy, known)
            if None in refused or not bad or len(spares) < len(bad) or fixed:
                raise PlanError([*left_out.values(), *error.findings]) from None
            for name in bad:
                left_out[name] = refused[name]
                nodes[nodes.index(name)] = spares.pop(0)
    substitutes = dict(zip(request["nodes"], nodes, strict=True))
    if request["parameters"]["max_restarts"]["value"] > 0 and len(nodes) > 1:
        plan, refusals = _with_waiting(lambda waiting: plan_of(nodes, waiting), spares, plan)
        left_out.update(refusals)
    warnings = [_without(finding, substitutes.get(name)) for name, finding in left_out.items()]
    plan["replaced"] = {node: spare for node, spare in substitutes.items() if node != spare}
    plan["findings"] = [finding.to_dict() for finding in warnings] + plan["findings"]
    return plan, warnings


def _with_waiting(
    plan_of: Callable[[Sequence[str]], dict[str, Any]], spares: Sequence[str], plan: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Finding]]:
    """Return the plan with the spares that fit into it, and why the others do not.

    The nodes' jobs are planned without spares: a host that may never be used must not change them.
    """
    refusals: dict[str, Finding] = {}

    def fitting(waiting: Sequence[str]) -> dict[str, Any] | None:
        try:
            wider = plan_of(waiting)
        except PlanError as error:
            stops = [finding for finding in reversed(error.findings) if finding.stops]
            refusals.update({finding.node: finding for finding in stops if finding.node and finding.node in waiting})
            return None
        # The gang may differ: the head's has the spares.
        jobs = [(wider["jobs"][name], plan["jobs"][name]) for name in plan["nodes"]]
        return wider if all({**after, "gang": None} == {**before, "gang": None} for after, before in jobs) else None

    wider = fitting(spares)
    if wider is None:
        good = [name for name in spares if fitting([name]) is not None]
        refusals.update({name: _other(name) for name in spares if name not in (*good, *refusals)})
        wider = fitting(good)
    result = wider or plan
    return result, {name: finding for name, finding in refusals.items() if name not in result["spares"]}


def _head_is_fixed(policy: ClusterPolicy, known: Mapping[str, Node]) -> bool:
    """Return whether the policy's head address belongs to one host, so that no spare can be the head."""
    nets = [node.facts.net for node in known.values() if node.facts.net is not None]
    holders = [net for net in nets if policy.head_address in [address.address for address in net.addresses]]
    return bool(policy.head_address) and len(holders) < 2


def _other(spare: str) -> Finding:
    observed = "with this spare, the other nodes would be planned differently"
    source = "facts of the nodes and this host"
    remedy = "compare it with the nodes: detect shows what differs"
    return Finding("spares", spare, "warn", observed, "a host like the nodes", source, remedy)


def _without(finding: Finding, spare: str | None) -> Finding:
    effect = f"the spare {spare} takes its place" if spare else "it is not a spare in this run"
    return dataclasses.replace(finding, status="warn", observed=f"{finding.observed}, so {effect}")
