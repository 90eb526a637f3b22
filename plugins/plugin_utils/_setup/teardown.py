# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What teardown did on every node, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._text.table import names, one_line, table

HEADERS = ("node", "what", "which")
KINDS = {"container": "containers", "run": "run directories"}
SHOWN = 6


@dataclass(frozen=True)
class Answer:
    """What a node answered to `run_prune`; result is None where it gave no answer, and why says so."""

    node: str
    result: Mapping[str, Any] | None
    why: str = ""

    @property
    def failed(self) -> bool:
        """Whether something that should have gone is still there, or nobody knows."""
        return self.result is None or bool(self.result.get("failed_on"))


def answer(node: str, registered: object) -> Answer:
    """Read what was registered for a node."""
    if not isinstance(registered, Mapping):
        return Answer(node, None, "it was not asked")
    if registered.get("removed") is None:
        return Answer(node, None, one_line(registered.get("msg") or "it gave no answer"))
    return Answer(node, registered)


def lines(answers: Sequence[Answer], check: bool, width: int) -> list[str]:
    """Return the table, a line where there was nothing, and what was left and why."""
    gone = "would go" if check else "removed"
    rows: list[Sequence[str]] = []
    for each in answers:
        rows += _rows(each, gone)
    lines = table(HEADERS, rows, width)
    idle = [each.node for each in answers if each.result is not None and not _rows(each, gone)]
    if idle:
        lines.append(f"no run to remove on {names(idle)}")
    return lines


def _rows(answer: Answer, gone: str) -> list[Sequence[str]]:
    if answer.result is None:
        return [(answer.node, "no answer", answer.why)]
    rows: list[Sequence[str]] = []
    for kind, called in KINDS.items():
        which = [str(thing["name"]) for thing in answer.result["removed"] if thing["kind"] == kind]
        if which:
            rows.append((answer.node, gone, f"{called}: {names(which, SHOWN)}"))
    rows += [(answer.node, "stays", f"{each['kind']} {each['name']}: {each['why']}") for each in answer.result["kept"]]
    if answer.result.get("engine"):
        rows.append((answer.node, "not asked", f"containers: the engine says: {one_line(answer.result['engine'])}"))
    rows += [(answer.node, "failed", one_line(why)) for why in answer.result.get("failed_on") or []]
    return rows
