# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks inside a launch: those whose facts it gathers anyway.

Its plan makes decisions whose findings are some checks' too; levels hold for these as well. What nobody could see stops
no launch beyond what the plan needs: preflight tells it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from .._findings.finding import Finding
from .check import lowered
from .model import Cluster, Level
from .properties import GPU_COUNT
from .registry import RULES, run

# The subsets of facts of roles/launch/tasks/plan.yml.
GATHERED = ("net", "rdma", "gpu", "code", "files", "slot", "versions", "container", "limits", "disk")


def fast(cluster: Cluster, levels: Mapping[str, Level]) -> list[Finding]:
    """Return what the checks found wrong on the facts of a launch."""
    found = [_warned(each.finding) for each in run(cluster, levels, GATHERED)]
    found = [each for each in found if each.status in ("warn", "fail")]
    # Of nodes with other numbers of GPUs the plan itself tells, where it counts ranks.
    peers = GPU_COUNT.key not in cluster.expected
    return [each for each in found if not (each.check == GPU_COUNT.name and peers)]


def _warned(found: Finding) -> Finding:
    """Make a warning of code that nobody could look at: ranks with other code than the rest fail late, or never."""
    blind = found.check == "code" and found.status == "error"
    return dataclasses.replace(found, status="warn") if blind else found


def levelled(decided: Iterable[Finding], levels: Mapping[str, Level]) -> list[Finding]:
    """Return what was found in deciding as the policy has it. An error stays: without these facts there is no plan."""
    kept = []
    for each in decided:
        check = RULES.get(each.check)
        level = levels.get(check.name, check.level) if check else "fail"
        if level != "off" or each.status == "error":
            kept.append(lowered(each, level))
    return kept
