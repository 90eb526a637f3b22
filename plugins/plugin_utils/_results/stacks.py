# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python stacks of all ranks: which ranks are at the same place, and each as a text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.stacks import NOWHERE, RankStacks, ThreadStack
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._text.table import one_line, table
from . import unanswered
from .infos import Info

HEADERS = ("ranks", "which", "in", "called from")
# Of the groups and the reasons on the screen; the files have all.
MOST_ROWS = 20


@frozen
class NodeStacks:
    """The stacks of one rank, or of a process that has none, and the node it is on."""

    node: str
    stacks: RankStacks

    @property
    def label(self) -> str:
        """Return the rank, or the process by its node."""
        rank = self.stacks.rank
        return f"{self.node}/PID {self.stacks.pid}" if rank is None else str(rank)

    @property
    def file_name(self) -> str:
        """The name of its file in the experiment."""
        if self.stacks.rank is not None:
            return f"rank_{self.stacks.rank:02d}.txt"
        return f"{re.sub(r'[^A-Za-z0-9._-]', '_', self.node)}_pid_{self.stacks.pid}.txt"


@frozen
class Place:
    """Where a main thread is: its innermost function, and the innermost of the program's own that has called it."""

    inner: str
    caller: str = ""


def stacks_of(infos: Iterable[Info]) -> list[NodeStacks]:
    """Return the stacks of all nodes, by rank; a rank that two nodes report is the first one's."""
    by_label: dict[str, NodeStacks] = {}
    for info in infos:
        for stacks in info.stacks:
            item = NodeStacks(info.node, stacks)
            by_label.setdefault(item.label, item)
    return sorted(by_label.values(), key=lambda item: (item.stacks.rank is None, item.stacks.rank or 0))


def groups_of(items: Iterable[NodeStacks]) -> dict[Place, list[NodeStacks]]:
    """Return the ranks by the place where their main threads are, the largest group first."""
    groups: dict[Place, list[NodeStacks]] = {}
    for item in items:
        if item.stacks.threads:
            groups.setdefault(place_of(item.stacks.threads[0]), []).append(item)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def place_of(thread: ThreadStack) -> Place:
    """Return where a thread is."""
    inner, caller = thread.inner, thread.caller
    if inner is None:
        return Place(NOWHERE)
    return Place(one_line(inner.text), "" if caller is None or caller is inner else one_line(caller.text))


def lines_of(items: Sequence[NodeStacks], width: int) -> list[str]:
    """Return what the user reads: a row for each place, and why there are ranks without stacks."""
    groups = groups_of(items)
    rows = [(str(len(members)), _which(members), place.inner, place.caller) for place, members in groups.items()]
    reasons: dict[tuple[str, str], list[NodeStacks]] = {}
    for item in items:
        if not item.stacks.threads:
            reasons.setdefault((item.node, one_line(item.stacks.why)), []).append(item)
    missing = [
        clean(f"{node}: no stacks of {'ranks' if len(members) > 1 else 'rank'} {_which(members)}: {why}")
        for (node, why), members in reasons.items()
    ]
    shown = table(HEADERS, rows[:MOST_ROWS], width) + ([""] if rows and missing else []) + missing[:MOST_ROWS]
    hidden = max(0, len(rows) - MOST_ROWS) + max(0, len(missing) - MOST_ROWS)
    return [*shown, *([f"and {hidden} more, in the files"] if hidden else [])]


def _which(members: Sequence[NodeStacks]) -> str:
    ranks = [item.stacks.rank for item in members if item.stacks.rank is not None]
    others = [item.label for item in members if item.stacks.rank is None]
    return ", ".join([*([spans(ranks)] if ranks else []), *others])


def text_of(item: NodeStacks, run_id: str, created: str) -> str:
    """Return the text of one file: all threads, the innermost calls first."""
    stacks = item.stacks
    who = f"process {stacks.pid}" if stacks.rank is None else f"rank {stacks.rank} (PID {stacks.pid})"
    by = f", by {stacks.source}" if stacks.source else ""
    lines = [f"{who} on {item.node} of {run_id}, {created}{by}{f' ({stacks.why})' if stacks.why else ''}"]
    return "".join(f"{line}\n" for line in (*map(clean, lines), *stacks.lines))


def document_of(
    run_id: str, infos: Sequence[Info], items: Sequence[NodeStacks], directory: str | None
) -> dict[str, Any]:
    """Return the document of the verb; directory is that of the files."""
    return {
        "run_id": run_id,
        "directory": directory,
        "groups": [_group(members) for members in groups_of(items).values()],
        "ranks": [_rank(item, directory) for item in items],
        "errors": unanswered.errors(infos),
    }


def _group(members: Sequence[NodeStacks]) -> dict[str, Any]:
    thread = members[0].stacks.threads[0]
    return {
        "count": len(members),
        "ranks": [item.stacks.rank for item in members if item.stacks.rank is not None],
        "frame": thread.inner.to_dict() if thread.inner else None,
        "caller": thread.caller.to_dict() if thread.caller else None,
    }


def _rank(item: NodeStacks, directory: str | None) -> Mapping[str, Any]:
    file = posixpath.join(directory, item.file_name) if directory and item.stacks.threads else None
    return {"node": item.node, "file": file, **item.stacks.to_dict()}
