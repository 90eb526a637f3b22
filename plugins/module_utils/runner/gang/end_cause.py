# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an attempt ends before its ranks have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._records.frozen import frozen
from .frames import short

NAMES_SHOWN = 8
HANG = "hang"
# What the order that ends a run leaves out where it is empty.
OPTIONAL = ("note", "kind")
# Longest reason, in bytes of JSON: an order has to fit into a frame.
MAX_WHY_BYTES = 1500


@frozen
class EndCause:
    """Why an attempt ended early: verdict failed, lost or stopped, and the node and rank where it began.

    note: why the run was not restarted, although restarts were allowed. kind: what has ended it where no node failed by
    itself, `hang` or `transport`.
    """

    verdict: str
    why: str
    node: str | None = None
    rank: int | None = None
    note: str = ""
    kind: str = ""


def cause_of_failure(name: str, report: dict[str, Any]) -> EndCause:
    return EndCause("failed", short(f"{name}: {report.get('why')}", MAX_WHY_BYTES), name, report.get("rank"))


def join_names(names: Sequence[str]) -> str:
    """Return ``n1, n2 and 3 more``."""
    shown = list(names[:NAMES_SHOWN])
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
