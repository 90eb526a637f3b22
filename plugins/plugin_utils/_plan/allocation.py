# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a Slurm allocation bounds how long a run may take, so that it ends, and saves, by itself before that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

from .._cluster.policy import SLURM_END, ClusterPolicy
from .._findings.finding import Finding
from .._findings.origin import cluster_variable

# From the request to the first rank, and from the last rank to the verdict.
OVERHEAD_S = 60


def bound(request: Mapping[str, Any], policy: ClusterPolicy) -> tuple[Mapping[str, Any], list[Finding]]:
    """Return the request with a time limit that ends before the allocation, and a finding where no time is left."""
    end, begin = seconds_of(policy.slurm_end), seconds_of(request["created"])
    if end is None or begin is None:
        return request, []
    left, setting = int(end - begin) - policy.stop_grace - OVERHEAD_S, request["parameters"]["time_limit"]
    if left <= 0:
        return request, [_too_late(policy, int(end - begin))]
    if setting["value"] and setting["value"] <= left:
        return request, []
    bounded = {"value": left, **cluster_variable(SLURM_END).to_dict()}
    return {**request, "parameters": {**request["parameters"], "time_limit": bounded}}, []


def _too_late(policy: ClusterPolicy, seconds: int) -> Finding:
    return Finding(
        check="time_limit",
        node=None,
        status="fail",
        observed=f"the Slurm allocation ends in {max(0, seconds)} s, at {policy.slurm_end}",
        expected=f"more than {policy.stop_grace + OVERHEAD_S} s: launch_stop_grace and {OVERHEAD_S} s to start and end",
        source=SLURM_END,
        remedy="allocate nodes for longer (salloc --time), or set a smaller launch_stop_grace",
    )
