# SPDX-License-Identifier: GPL-3.0-or-later
"""A slot that another launch keeps: who it is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID

from .._findings.finding import Finding
from .._findings.remedy import Remedy, playbook, sentence

EXPECTED, ORIGIN = "a free slot", "launch_slot"
QUEUE = "launch with -e wait=2h, which queues for it"


def earliest(holders: Iterable[LaunchHolder | None]) -> dict[str | None, str]:
    """Return since when each launch holds what others need, by its nonce: its runners begin seconds apart."""
    since: dict[str | None, str] = {}
    for holder in holders:
        if holder is not None and holder.since:
            since[holder.nonce] = min(holder.since, since.get(holder.nonce, holder.since))
    return since


def describe_keeper(slot: str, node: str, holder: LaunchHolder, since: str | None = None) -> str:
    """Return who keeps a slot, with the same words on all nodes of one run if `since` is the same."""
    owner = describe_owner(node, holder, since)
    if holder.waits:
        state = "is about to start" if holder.admitted else "waits for it"
        return f"slot {slot} is reserved for run {holder.run_id}{owner}, which {state}"
    return f"slot {slot} is held by {f'run {holder.run_id}' if holder.run_id else 'an unidentified run'}{owner}"


def describe_owner(node: str, holder: LaunchHolder, since: str | None = None) -> str:
    """Return whose a launch is, as which node it runs if not as this one, and since when."""
    words = f" of {holder.user}" if holder.user else ""
    words += f" as node {holder.node}" if holder.node not in (None, node) else ""
    return words + (f" since {since}" if since else "")


def add_stop(remedy: str, holder: LaunchHolder) -> Remedy:
    """Return a remedy with the command that stops the run, where one has begun and its name can be trusted."""
    if holder.run_id is None or holder.waits or not SAFE_RUN_ID.fullmatch(holder.run_id):
        return sentence(remedy)
    return sentence(remedy, ", or stop it: ", playbook("stop", "-e", f"run_id={holder.run_id}"))


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
