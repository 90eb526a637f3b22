# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks inside a launch: those whose facts it gathers anyway.

Findings of the plan's decisions have the names of the checks that report them in preflight, and their levels. Beyond
what the plan needs, a check that could not run stops no launch: preflight reports it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .._findings.finding import Finding
from .model import Cluster
from .policy import CheckPolicy
from .properties import GPU_COUNT
from .registry import BY_NAME, level_of, lowered, run

# The subsets of facts of roles/launch/vars/main.yml.
GATHERED = (
    *("net", "rdma", "gpu", "code", "files", "slot", "versions"),
    *("container", "limits", "disk", "inherited", "gpu_processes"),
)
# Others may use a node's GPUs on purpose, so that only a level that users set stops a launch. What they do is not known
# from the inventory: the launch shows it.
SHOWN = ("gpu processes",)


def fast(cluster: Cluster) -> list[Finding]:
    """Return the problems that the checks find in the facts of a launch."""
    findings = [_unknown_code_warns(result.finding) for result in run(cluster, GATHERED)]
    findings = [lowered(item, "warn") if _by_default(item, cluster.checks) else item for item in findings]
    # Different numbers of GPUs are the plan's own finding, where it counts ranks.
    skipped = set() if GPU_COUNT.key in cluster.checks.expected else {GPU_COUNT.name}
    return [finding for finding in findings if finding.status in ("warn", "fail") and finding.check not in skipped]


def _unknown_code_warns(finding: Finding) -> Finding:
    """Warn if the code could not be read: ranks with different code fail late, or never."""
    unknown = finding.check == "code" and finding.status == "error"
    return dataclasses.replace(finding, status="warn") if unknown else finding


def _by_default(finding: Finding, policy: CheckPolicy) -> bool:
    return finding.check in SHOWN and finding.check not in policy.levels


def with_levels(decided: Iterable[Finding], policy: CheckPolicy) -> list[Finding]:
    """Apply the policy's levels to the findings of decisions. An error stays: without these facts there is no plan."""
    kept = []
    for finding in decided:
        check = BY_NAME.get(finding.check)
        level = level_of(check, policy) if check else "fail"
        if level != "off" or finding.status == "error":
            kept.append(lowered(finding, level))
    return kept
