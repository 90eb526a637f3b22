# SPDX-License-Identifier: GPL-3.0-or-later
"""How an attempt and the whole run ended, as the state has it."""

from __future__ import annotations

from typing import Any

from .attempt.attempt import Attempt
from .gang.base import report_of


def end_of(order: dict[str, Any]) -> dict[str, Any]:
    """Return the state's `end` from an order that ends the run: verdict, why, node, rank, and a note if it has one."""
    end = {name: order.get(name) for name in ("verdict", "why", "node", "rank")}
    return {**end, "note": order["note"]} if "note" in order else end


def outcome_of(attempt: Attempt) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return how an attempt has ended or is ending: its phase, the state's fields, and the report for the gang."""
    phase, fields, stuck = attempt.verdict()
    return phase, fields, report_of(phase, fields, attempt.last_step(), attempt.saved, stuck)
