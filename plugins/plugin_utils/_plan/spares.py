# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spares: who takes the rank of a node that the plan refuses.

The others keep theirs. Of the spares that are left those wait in the run for a node that is lost, where `max_restarts`
allows another attempt.
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
    """Return the plan, and a warning for each node or spare that has no part in it; raise PlanError as `make_plan`.

    known are the nodes and spares that answered, silent has a finding for each one that did not.
    """
    nodes, spares = list(request["nodes"]), list(request["spares"])
    left_out: dict[str, Finding] = {}

    def plan_of(nodes: Sequence[str], waiting: Sequence[str] = ()) -> dict[str, Any]:
        everybody = [*nodes, *waiting]
        if away := [silent[name] for name in everybody if name in silent]:
            raise PlanError(away)
        return make_plan(request, policy, [known[name] for name in everybody], len(waiting), checks)

    while True:
        try:
            plan = plan_of(nodes)
            break
        except PlanError as error:
            refused = {finding.node: finding for finding in reversed(error.findings) if finding.stops}
            bad = [name for name in nodes if name in refused]
            # What is wrong with the whole cluster, no spare mends.
            if None in refused or not bad or len(spares) < len(bad) or _is_bound(policy, known, nodes[0] in bad):
                raise PlanError([*left_out.values(), *error.findings]) from None
            for name in bad:
                left_out[name] = refused[name]
                nodes[nodes.index(name)] = spares.pop(0)
    now = dict(zip(request["nodes"], nodes, strict=True))
    if request["parameters"]["max_restarts"]["value"] > 0 and len(nodes) > 1:
        plan, unfit = _with_waiting(lambda waiting: plan_of(nodes, waiting), spares, plan)
        left_out.update(unfit)
    warnings = [_without(finding, now.get(name)) for name, finding in left_out.items()]
    plan["findings"] = [finding.to_dict() for finding in warnings] + plan["findings"]
    return plan, warnings


def _with_waiting(
    plan_of: Callable[[Sequence[str]], dict[str, Any]], spares: Sequence[str], plan: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Finding]]:
    """Return the plan with those spares that fit into it, and why the others do not.

    What the nodes get is decided without them: a host that may never be used changes nothing for the others.
    """
    unfit: dict[str, Finding] = {}

    def fitting(waiting: Sequence[str]) -> dict[str, Any] | None:
        try:
            wider = plan_of(waiting)
        except PlanError as error:
            for each in reversed(error.findings):
                if each.node is not None and each.node in waiting and each.stops:
                    unfit[each.node] = each
            return None
        return wider if all(_alike(wider["jobs"][name], plan["jobs"][name]) for name in plan["nodes"]) else None

    wider = fitting(spares)
    if wider is None:
        good = [name for name in spares if fitting([name]) is not None]
        unfit.update({name: _other(name) for name in spares if name not in (*good, *unfit)})
        wider = fitting(good)
    found = wider or plan
    return found, {name: finding for name, finding in unfit.items() if name not in found["spares"]}


def _alike(wider: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Say whether a node gets the same with spares as without; only the head knows of them."""
    return {**wider, "gang": None} == {**job, "gang": None}


def _is_bound(policy: ClusterPolicy, known: Mapping[str, Node], head_is_bad: bool) -> bool:
    """Say whether the head has an address by policy that no spare has, so that none can be the head."""
    if not head_is_bad or not policy.head_address:
        return False
    nets = [node.facts.net for node in known.values() if node.facts.net is not None]
    return sum(policy.head_address in [each.address for each in net.addresses] for net in nets) < 2


def _other(spare: str) -> Finding:
    return Finding(
        check="spares",
        node=spare,
        status="warn",
        observed="with it the other nodes would be planned differently",
        expected="a host like the nodes",
        source="facts of the nodes and this host",
        remedy="compare it with them: detect shows what differs",
    )


def _without(finding: Finding, spare: str | None) -> Finding:
    what = f"the spare {spare} takes its place" if spare else "it is no spare in this run"
    return dataclasses.replace(finding, status="warn", observed=f"{finding.observed}, so {what}")
