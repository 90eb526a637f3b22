# SPDX-License-Identifier: GPL-3.0-or-later
"""How an attempt and the whole run ended, as the state has it."""

from __future__ import annotations

from typing import Any

from .attempt.attempt import Attempt
from .gang.base import Gang, report_of
from .gang.end_cause import OPTIONAL
from .state import State


def end_of(order: dict[str, Any]) -> dict[str, Any]:
    """Return the state's `end` from an order that ends the run: verdict, why, node, rank, and what else it has."""
    end = {name: order.get(name) for name in ("verdict", "why", "node", "rank")}
    return {**end, **{name: order[name] for name in OPTIONAL if name in order}}


def outcome_of(attempt: Attempt) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return how an attempt has ended or is ending: its phase, the state's fields, and the report for the gang."""
    phase, fields, stuck = attempt.verdict()
    return phase, fields, report_of(phase, fields, attempt.last_step(), attempt.saved, stuck)


def judgments(gang: Gang, now: float) -> dict[str, dict[str, Any] | None]:
    """Return the state's fields for what the head has concluded of all nodes, none of it on any other node."""
    known = {"hang": gang.hang(now), "transport": gang.transport(now)}
    return {name: None if record is None else record.to_dict() for name, record in known.items()}


def write_judgments(state: State, gang: Gang, now: float) -> None:
    """Write them where they have changed."""
    fields = judgments(gang, now)
    if any(state.fields[name] != known for name, known in fields.items()):
        state.change(state.phase, **fields)
