# SPDX-License-Identifier: GPL-3.0-or-later
"""The document of a verb, put together while its playbook runs: from what its tasks return, and from how they fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._cluster.node import silent_of
from .._cluster.silence import why_silent
from .._findings.errors import error_record, task_message
from .documents import KEYS, document

# It ends with a preflight, which is a part of its document.
SETUP, PREFLIGHT = "setup", "preflight"


class GatheredDocument:
    """What is known of one command so far. A task that speaks for all nodes returns the document, or a part of it."""

    def __init__(self) -> None:
        self.verb = ""
        self._request: Mapping[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._errors: list[dict[str, Any]] = []
        self._changes: dict[str, list[str]] = {}

    def begin_play(self, verb: object) -> None:
        """Note the verb that a play is for; later plays of a verb name none."""
        if verb and self.verb != SETUP:
            self.verb = str(verb)

    def add_result(self, node: str, task: str, result: Mapping[str, Any]) -> None:
        """Note what a task returned, whether or not it failed."""
        if isinstance(result.get("request"), Mapping):
            self._request = result["request"]
        if result.get("changed"):
            self._changes.setdefault(node, []).append(task)
        part = result.get("verb_document")
        if isinstance(part, Mapping):
            # What a later task knows of all nodes replaces what was known before.
            self._known.update(part)
            self._errors = list(part.get("errors", []))

    def add_failure(self, node: str | None, task: str, result: Mapping[str, Any]) -> None:
        """Note a task that failed, unless what it returned has the reason."""
        self.add_result(node or "", task, {**result, "changed": False})
        if node and result.get("unreachable"):
            self._errors.append(why_silent(silent_of(node, result, "it did not answer")).to_error())
        elif not isinstance(result.get("verb_document"), Mapping):
            why = task_message(result, "no reason given")
            where = f"{node}: {task}" if node else task
            self._errors.append(error_record(f"{where}: {why}", node, task, why))

    def end(self, failed: bool) -> dict[str, Any]:
        """Return the document; one of a verb that failed has a reason."""
        errors, chosen = self._errors, {}
        if failed and not errors:
            # Of a launch that was interrupted, whose run may go on.
            chosen = {"run_id": self._request.get("run_id")} if "run_id" in KEYS.get(self.verb, {}) else {}
            why = "the command ended before its report; the standard error shows why"
            errors = [error_record(why, observed="no report", expected="a report")]
        known = {name: value for name, value in self._known.items() if name not in ("schema", "created", "command")}
        if self.verb == SETUP:
            check = {**KEYS[PREFLIGHT], **known} if known.get("code") is not None else None
            if check is not None:
                check.pop("errors", None)
            known = {"changes": self._changes, "preflight": check}
        created, command = (self._request.get(name) for name in ("created", "command"))
        return document(self.verb, created, command, {**chosen, **known, "failed": failed, "errors": errors})
