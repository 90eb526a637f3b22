# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page of a run shows besides its metrics: why it ended, its attempts, and what it was launched with."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._findings.finding import BAD, Finding, Status
from .._findings.origin import Layer
from .._page.tables import PageTable
from .._request.conditions import text_of
from .._results.causes import ordered
from .._results.notes import notes_of
from .._results.rows import duration
from .._text.table import node_names

# Further ones mostly follow from these.
MOST_FAILURES = 8
LONGEST_TAIL = 30
TIMES = ("created", "started", "first_step", "last_step", "ended")
PARTS_OF_FINDING = ("check", "observed", "expected", "source", "remedy")


@frozen
class LastWords:
    """A failure, and the last lines of the rank's log."""

    text: str
    lines: Sequence[str]


def last_words(record: Mapping[str, Any], runs: Iterable[RunRecord]) -> list[LastWords]:
    """Return the failures of a run, the most likely cause first."""
    failures = ordered(runs)
    if failures:
        tails = [list(failure.tail or failure.cause.traceback)[-LONGEST_TAIL:] for failure in failures]
        known = zip(failures[:MOST_FAILURES], tails, strict=False)
        return [LastWords(failure.text, [str(line) for line in tail]) for failure, tail in known]
    cause = as_dict(record.get("cause"))
    lines = cause.get("traceback")
    if not cause:
        return []
    return [LastWords(str(record.get("why") or ""), [str(line) for line in lines] if isinstance(lines, list) else [])]


def attempts_table(record: Mapping[str, Any]) -> PageTable | None:
    """Return the attempts of a run and its earlier launches, with why each ended; None where there was only one."""
    earlier = [_attempt(f"launch of {item.get('created')}", item) for item in dicts(record.get("attempts"))]
    attempts = [_attempt(f"attempt {item.get('attempt')}", item) for item in dicts(record.get("ended_attempts"))]
    if not earlier and not attempts:
        return None
    last = "the last attempt" if attempts else "the last launch"
    rows = [*earlier, *attempts, _attempt(last, record)]
    return PageTable.of("Attempts", ["", "ended (UTC)", "verdict", "why"], rows, wrapped=True)


def _attempt(name: str, item: Mapping[str, Any]) -> list[str]:
    ended = str(item.get("ended") or "").replace("T", " ").removesuffix("Z")
    return [name, ended, text_of(item.get("verdict")), text_of(item.get("why"))]


def findings_of(plan: Mapping[str, Any]) -> list[Finding]:
    """Return the findings that the launch was made in spite of."""
    findings = []
    for item in dicts(plan.get("findings")):
        known = {key: str(item.get(key) or "") for key in PARTS_OF_FINDING}
        if item.get("status") in BAD:
            status: Status = item["status"]
            node = item.get("node")
            findings.append(Finding(node=None if node is None else str(node), status=status, **known))
    return findings


def parameter_tables(record: Mapping[str, Any]) -> tuple[PageTable | None, PageTable | None]:
    """Return the parameters that were chosen for the run, and those that have the collection's own defaults."""
    chosen: list[list[str]] = []
    defaults: list[list[str]] = []
    for name, item in as_dict(record.get("parameters")).items():
        setting = as_dict(item)
        rows = defaults if setting.get("layer") == Layer.DEFAULT else chosen
        rows.append([str(name), _value(setting.get("value")), str(setting.get("origin") or "")])
    return _parameters("Parameters", chosen), _parameters("Defaults", defaults)


def _parameters(title: str, rows: Sequence[Sequence[str]]) -> PageTable | None:
    return PageTable.of(title, ["parameter", "value", "origin"], rows, wrapped=True) if rows else None


def _value(value: object) -> str:
    if isinstance(value, dict):
        return shlex.join(f"{name}={text_of(item)}" for name, item in value.items())
    return shlex.join(map(str, value)) if isinstance(value, list) else text_of(value)


def facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the run was: where and when it ran, with which code and versions, and by which command."""
    code, controller = as_dict(record.get("code")), as_dict(record.get("controller"))
    changes = ", with changes" if code.get("dirty") else ""
    version = " ".join(filter(None, [str(code.get("commit") or code.get("tree") or ""), str(code.get("branch") or "")]))
    nodes, replaced = record.get("nodes"), as_dict(record.get("replaced"))
    versions = [f"{name} {value}" for name, value in as_dict(record.get("versions")).items()]
    times = [f"{name.replace('_', ' ')} {record[name]}" for name in TIMES if record.get(name)]
    rows = [
        ("command", str(record.get("command") or "")),
        ("commit", f"{version}{changes}" if version else ""),
        ("code", str(code.get("path") or "")),
        ("versions", ", ".join(versions)),
        ("cluster", str(record.get("cluster") or "")),
        ("nodes", node_names([str(node) for node in nodes]) if isinstance(nodes, list) else ""),
        ("replaced", ", ".join(f"{node} by {spare}" for node, spare in replaced.items())),
        ("fabric", str(record.get("fabric") or "")),
        ("controller", "@".join(str(controller[key]) for key in ("user", "host") if controller.get(key))),
        ("times", ", ".join(times)),
        ("duration", duration(record.get("elapsed_s"))),
        *(("note", f"{note.text} ({note.by} {note.at})") for note in notes_of(record)),
    ]
    return [(name, text) for name, text in rows if text]


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects of a JSON list, none for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
