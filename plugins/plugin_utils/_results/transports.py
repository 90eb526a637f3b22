# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fabric the ranks of a run use, as NCCL's logs have proved it to the head, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import End, RunRecord
from ansible_collections.muster.train.plugins.module_utils._records.transport import PASS, TRANSPORT, TransportVerdict
from ansible_collections.muster.train.plugins.module_utils._records.transport_verdict import (
    describe,
    describe_variables,
)
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._text.table import one_line
from .causes import Cause, Failure


def transport_of(runs: Iterable[RunRecord]) -> TransportVerdict | None:
    """Return the verdict on a run's fabric, None where there is none yet or nothing is to be proved."""
    return next((run.transport for run in runs if run.transport is not None), None)


def texts_of(verdict: TransportVerdict) -> list[str]:
    """Return the verdict in one line, and a line for each variable that NCCL did not read as planned."""
    line = clean(verdict.finding.line or "") if verdict.finding and verdict.verdict != PASS else ""
    shown = [f"  {line}"] if line else []
    return [f"fabric: {describe(verdict)}", *shown, *(f"  {text}" for text in describe_variables(verdict))]


def is_good(verdict: TransportVerdict) -> bool:
    """Return whether there is nothing to warn of."""
    return verdict.verdict == PASS and not verdict.variables


def data(runs: Iterable[RunRecord]) -> dict[str, Any] | None:
    """Return the same for programs."""
    return data_of(transport_of(runs))


def data_of(verdict: TransportVerdict | None) -> dict[str, Any] | None:
    return None if verdict is None else {**verdict.to_dict(), "text": describe(verdict)}


def failure_of(end: End) -> Failure | None:
    """Return the cause of an end that the verdict on the fabric has brought about."""
    if end.kind != TRANSPORT or not end.why:
        return None
    what = one_line(end.why)
    return Failure(what, Likeness.OWN, Cause(str(end.node), end.rank, message=what), names_node=True)
