# SPDX-License-Identifier: GPL-3.0-or-later
"""What teardown did on every node, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._cluster.node import silent_of
from .._cluster.silence import summarize, why_silent
from .._cluster.unreachable import is_about_modules
from .._findings.errors import error_record
from .._findings.finding import Finding
from .._findings.finding import lines as finding_lines
from .._text.table import names, node_names, one_line, table

HEADERS = ("node", "what", "which")
KINDS = {"container": "containers", "run": "run directories"}
SHOWN = 6


@frozen
class PruneAnswer:
    """What a node answered to `run_prune`; result is None if it did not answer, and why is the reason.

    finding says why no module ran on the node, and what to do.
    """

    node: str
    result: Mapping[str, Any] | None
    why: str = ""
    finding: Finding | None = None

    @property
    def failed(self) -> bool:
        """Whether something could not be removed, or this is unknown."""
        return self.result is None or bool(self.result.get("failed_on"))


def answer(node: str, registered: object) -> PruneAnswer:
    """Read what was registered for a node."""
    if not isinstance(registered, Mapping):
        return PruneAnswer(node, None, "it was not contacted")
    if registered.get("removed") is None:
        silent = silent_of(node, registered, "it gave no answer")
        if registered.get("unreachable") or is_about_modules(silent.message, silent.reason_key):
            return PruneAnswer(node, None, summarize(silent), why_silent(silent))
        return PruneAnswer(node, None, silent.why)
    return PruneAnswer(node, registered)


def lines(answers: Sequence[PruneAnswer], check: bool, width: int) -> list[str]:
    """Return the table of what was removed and what stays, and a line that names the nodes without either."""
    rows = {answer.node: _rows(answer, "would go" if check else "removed") for answer in answers}
    lines = table(HEADERS, [row for node_rows in rows.values() for row in node_rows], width)
    idle = [node for node, node_rows in rows.items() if not node_rows]
    findings = finding_lines(answer.finding for answer in answers if answer.finding is not None)
    return [*lines, *([f"no run to remove on {node_names(idle)}"] if idle else []), *findings]


def document(answers: Sequence[PruneAnswer], check: bool) -> dict[str, Any]:
    """Return the same as data, with an error for what could not be removed."""
    keys = ("removed", "kept", "engine", "failed_on")
    nodes = []
    errors = []
    for answer in answers:
        result = answer.result or {}
        nodes.append(
            {
                "node": answer.node,
                "answered": answer.result is not None,
                "why": answer.why or None,
                **{key: result.get(key) if key == "engine" else list(result.get(key) or []) for key in keys},
            }
        )
        if answer.finding is not None:
            errors.append(answer.finding.to_error())
            continue
        whys = [str(why) for why in result.get("failed_on") or []] if answer.result is not None else [answer.why]
        errors += [error_record(f"{answer.node}: {why}", answer.node, "teardown", why) for why in whys]
    return {"check_mode": check, "nodes": nodes, "errors": errors}


def _rows(answer: PruneAnswer, action: str) -> list[Sequence[str]]:
    if answer.result is None:
        return [(answer.node, "no answer", answer.why)]
    rows: list[Sequence[str]] = []
    for kind, plural in KINDS.items():
        which = [str(item["name"]) for item in answer.result["removed"] if item["kind"] == kind]
        if which:
            rows.append((answer.node, action, f"{plural}: {names(which, SHOWN)}"))
    rows += [(answer.node, "stays", f"{item['kind']} {item['name']}: {item['why']}") for item in answer.result["kept"]]
    if answer.result.get("engine"):
        rows.append((answer.node, "not asked", f"containers: the engine reports: {one_line(answer.result['engine'])}"))
    rows += [(answer.node, "failed", one_line(why)) for why in answer.result.get("failed_on") or []]
    return rows
