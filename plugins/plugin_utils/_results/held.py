# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch that another one keeps out: which run holds what it needs, whose it is, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder

from .._cluster.slot import EXPECTED, ORIGIN, QUEUE, add_stop, describe_keeper, describe_owner
from .._findings.finding import Finding


def read_holder(result: Mapping[str, Any]) -> LaunchHolder | None:
    """Return the launch that a node's answer names as the holder."""
    return LaunchHolder.optional(result.get("holder"))


def explain_refusal(node: str, result: Mapping[str, Any], since: Mapping[str | None, str]) -> Finding | None:
    """Return which launch keeps this one out, with the same words on all nodes; None where none does."""
    holder = read_holder(result)
    if holder is None or holder.run_id is None:
        return None
    start, slot = since.get(holder.nonce), result.get("slot")
    if slot is not None:
        observed, remedy = describe_keeper(str(slot), node, holder, start), add_stop(QUEUE, holder)
        return Finding("slot", node, "fail", observed, EXPECTED, ORIGIN, remedy)
    observed = f"run {holder.run_id} is held by its launch {str(holder.nonce)[:8]}{describe_owner(node, holder, start)}"
    remedy = add_stop("wait for its end", holder)
    return Finding("run", node, "fail", observed, "no other launch of this run", "run_id", remedy)
