# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spares: who takes the rank of a node that the plan refuses. (`_spares.py` is private to the collection.)

The others keep theirs. Of the spares that are left those wait in the run for a node that is lost, where `max_restarts`
allows another attempt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._environments import NodeInput
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._policy import Policy


def plan_with_spares(
    request: Mapping[str, Any],
    policy: Policy,
    known: Mapping[str, NodeInput],
    silent: Mapping[str, Finding],
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the plan, and a warning for each node or spare that has no part in it; raise PlanError as `make_plan`.

    known are the nodes and spares that answered, silent has a finding for each one that did not.
    """
    nodes = list(request["nodes"])
    spares = [name for name in request["spares"] if name in known]
    may_wait = request["parameters"]["max_restarts"]["value"] > 0 and len(nodes) > 1
    left_out = {name: silent[name] for name in request["spares"] if name in silent}
    while True:
        waiting = spares if may_wait else []
        try:
            if away := [silent[name] for name in nodes if name in silent]:
                raise PlanError(away)
            plan = make_plan(request, policy, [known[name] for name in [*nodes, *waiting]], len(waiting))
            now = dict(zip(request["nodes"], nodes, strict=True))
            warnings = [_without(finding, now.get(name)) for name, finding in left_out.items()]
            plan["findings"] = [finding.to_dict() for finding in warnings] + plan["findings"]
            return plan, warnings
        except PlanError as error:
            refused = {finding.node: finding for finding in reversed(error.findings) if finding.stops}
            bad = [name for name in nodes if name in refused]
            good = [name for name in spares if name not in refused]
            # What is wrong with the whole cluster, no spare mends.
            if None in refused or len(good) < len(bad):
                raise PlanError([*left_out.values(), *error.findings]) from None
            left_out.update({name: refused[name] for name in [*bad, *spares] if name in refused})
            for name in bad:
                nodes[nodes.index(name)] = good.pop(0)
            spares = good


def _without(finding: Finding, spare: str | None) -> Finding:
    what = f"the spare {spare} takes its place" if spare else "it is no spare in this run"
    return dataclasses.replace(finding, status="warn", observed=f"{finding.observed}, so {what}")
