# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user reads of a run: tables, the verdict's lines, logs and commands.

Everything here is text out of data that hosts sent: each string goes through `clean`, none is ever a template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.cause import last_exception, split_exception
from ansible_collections.muster.train.plugins.module_utils._records.likeness import read_likeness
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._cluster.starter import kind_of
from .._text.table import names, node_names, one_line, table
from . import unanswered
from .causes import Cause, ordered
from .events import replaced_by
from .grep import Grep
from .infos import Info
from .progress import stall_text
from .removed_nodes import NOT_HERE
from .rows import duration, losses, number, status_rows
from .signatures.text import advice
from .verdict import NO_METRICS, Verdict, count_ranks, members

STATUS_HEADERS = ("node", "node rank", "phase", "ranks", "PIDs", "step", "loss", "tokens/s", "speed", "elapsed", "why")
LOG_LINES = 15
# Run directories that are shown.
PLACES = 4
CONSEQUENCES = 8
# Signs of a consequence; the cause's own are shown in full.
WHY = 120
# Of a reason in a table, which is wrapped: a runaway message must not fill the screen for each node.
LONGEST = 1000
# The runner writes one each second.
HEARTBEAT_STALE_S = 15


def _remarks(run: RunRecord) -> str:
    # Of a failed node the most likely cause: its own reason may name the rank that torchrun noticed first.
    failures = ordered([run]) if run.phase == "failed" else []
    why = failures[0].what if failures else run.why
    remarks = [one_line(why, LONGEST)] if why else []
    age = run.heartbeat_age_s
    if run.alive and age is not None and age > HEARTBEAT_STALE_S:
        remarks.append(f"nothing written for {duration(age)}: its storage is full or does not answer")
    if run.stalled:
        remarks.append(stall_text(run.stalled))
    if run.left:
        plural = run.left != 1
        left = f"{run.left} process{'es' * plural} {'are' if plural else 'is'} left over"
        remarks.append(f"{left}; run stop to end {'them' if plural else 'it'}")
    if run.log_dropped:
        remarks.append(f"{run.log_dropped} bytes of log were dropped")
    memlock = run.memlock.soft if run.memlock else None
    # A unit asks for no limit; what it shows is not what its processes have.
    if run.alive and kind_of(run.starter).is_unit and memlock not in (None, -1):
        remarks.append(f"may lock only {memlock // 1024} KiB of memory, though its unit asks for no limit")
    return "; ".join(remarks)


def status_table(
    runs: Sequence[RunRecord],
    width: int,
    replaced: Mapping[str, str] | None = None,
    every: bool = False,
    outside: Collection[str] = (),
) -> list[str]:
    """Return one row for each node, for many nodes one for those that are alike, unless every one is asked for.

    replaced has the spare that took a node's ranks, by node; the nodes outside are not in the inventory.
    """
    nodes = replaced_by(replaced or {})

    def remarks(run: RunRecord) -> str:
        where = NOT_HERE if run.node in outside and run.why != NOT_HERE else ""
        return "; ".join(filter(None, [where, _remarks(run)]))

    return table(STATUS_HEADERS, status_rows(runs, nodes, remarks, every), width)


def first_progress(runs: Iterable[RunRecord]) -> Progress | None:
    """Return the progress of the lowest rank that reported one."""
    return next((run.progress for run in runs if run.progress), None)


def summary(
    run_id: str | None, verdict: Verdict, runs: Sequence[RunRecord], replaced: Mapping[str, str] | None = None
) -> str:
    """Return ``<run id>  succeeded · 4 ranks on 2 nodes · attempt 2 · n3 for n2 · loss 5.55 -> 1.93 · 31 s``.

    The ranks are the run's, whether or not their nodes answer.
    """
    parts = [run for run in members(runs) if run.nproc]
    ranks, reported = count_ranks(parts), any(run.ranks is not None for run in parts)
    nodes = max([len(parts), *(run.nnodes or 0 for run in parts)])
    spares = replaced_by(replaced or {}).items()
    attempt = max((run.attempt or 0 for run in parts), default=0)
    loss = losses(first_progress(runs))
    facts = [
        verdict.verdict + (NO_METRICS if verdict.verdict == "succeeded" and not first_progress(runs) else ""),
        f"{ranks or 'no reported'} rank{'s' * (ranks != 1)} on {nodes} node{'s' * (nodes != 1)}"
        if ranks or reported
        else "",
        f"attempt {attempt + 1}" if attempt else "",
        names([f"{one_line(spare)} for {one_line(node)}" for spare, node in spares]),
        f"loss {loss}" if loss else "",
        duration(verdict.elapsed_s),
    ]
    return clean(f"{run_id or 'no run'}  " + " · ".join(fact for fact in facts if fact))


def asking(infos: Iterable[Info], run_id: str | None, grace: int | None) -> list[str]:
    """Say, before a stop that may take its time, whom it asks and for how long; nothing where no runner lives."""
    alive = [info.node for info in infos if any(run.run_id == run_id and run.alive for run in info.runs)]
    if not alive:
        return []
    return [
        clean(
            f"asking the runners of {run_id} on {node_names(alive)} to stop: SIGTERM, and SIGKILL after up to {grace} s"
        )
    ]


def already_ended(infos: Iterable[Info], run_id: str | None) -> list[str]:
    """Say, after a stop, where there was nothing to stop."""
    parts = list(infos)
    over = [info for info in parts if not info.changed and info.run.phase in ENDED]
    if over and len(over) == len(parts):
        return [clean(f"{run_id} had already ended: nothing to stop")]
    # Where this stop has ended others, one that is stopped may have heard of it by the gang first.
    return [clean(f"  {info.node} had already ended") for info in over if info.run.phase != "stopped"]


def explanation(verdict: Verdict) -> list[str]:
    """Return why, the cause first, what is known of it, what followed from it, and the last lines of that rank."""
    tail = verdict.log_tail or (verdict.cause.traceback if verdict.cause else [])
    telling = verdict.cause.telling(tail) if verdict.cause else tail
    lines = [f"  {clean(verdict.why)}", *advice(verdict.why, telling)] if verdict.why else []
    lines += [f"    then {one_line(text, WHY)}" for text in verdict.consequences[:CONSEQUENCES]]
    if len(verdict.consequences) > CONSEQUENCES:
        lines.append(f"    and {len(verdict.consequences) - CONSEQUENCES} more")
    return lines + _tail(verdict.node, verdict.rank, tail)


def _tail(node: str | None, rank: int | None, tail: Sequence[object]) -> list[str]:
    if not tail:
        return []
    return [f"  last lines of {clean(label(node, rank))}:", *(f"    | {clean(line)}" for line in tail[-LOG_LINES:])]


def label(node: object, rank: object) -> str:
    """Return ``node0/rank0``; the launcher is ``node0/-``."""
    return f"{node}/-" if rank is None else f"{node}/rank{rank}"


def places(runs: Iterable[RunRecord], experiment: str | None) -> list[tuple[str, str]]:
    """Return (what, where) of everything that there is of the run."""
    where = [(f"on {run.node}", run.run_dir) for run in runs if run.run_dir and run.phase != "not_found"]
    more = [("and", f"on {len(where) - PLACES} more nodes")] if len(where) > PLACES else []
    return [*([("experiment", experiment)] if experiment else []), *where[:PLACES], *more]


def not_started(infos: Sequence[Info], together: str | None) -> tuple[str, list[str]]:
    """Say who failed to start, the most likely cause first, and what its log says: (first line, all lines).

    together is why those that were started did not begin together.
    """
    failed = sorted((info for info in infos if not info.answered), key=lambda info: read_likeness(info.run.likeness))
    if not failed:
        return together or "every node had started, a later task failed", []
    lines = unanswered.lines(failed)
    last_lines = failed[0].run.log_tail
    lines += [clean(together)] if together else []
    # An answer without a run has no more than its last lines.
    exception, _message = split_exception(last_exception(last_lines))
    is_why = exception is not None and exception in lines[0]
    telling = Cause(failed[0].node, exception=exception if is_why else None).telling(last_lines)
    known = [*advice(lines[0], telling), *_tail(failed[0].node, None, last_lines)]
    return lines[0], [*(f"  {line}" for line in lines), *known]


def log_lines(
    infos: Iterable[Info],
    limit: int | None,
    node: str | None = None,
    rank: int | None = None,
    pattern: str | None = None,
) -> list[str]:
    """Return the last `limit` log lines of all nodes, merged by time: ``2026-11-20 14:30:52.123 node0/rank0 | text``.

    A line that has no time (the runner did not write it) comes before all others.
    """
    entries = [
        (str(entry["time"]), clean(label(entry["node"], entry["rank"])), clean(entry["text"]))
        for info in infos
        for entry in info.log
        if node in (None, entry["node"]) and rank in (None, entry["rank"])
    ]
    matches = Grep(pattern).matches(text for _time, _who, text in entries)
    entries = [entry for entry, is_match in zip(entries, matches, strict=True) if is_match]
    entries.sort(key=lambda entry: entry[0])
    entries = entries[-(limit or len(entries)) :]
    size = max((len(who) for _time, who, _text in entries), default=0)
    return [log_line(time, who, text, size) for time, who, text in entries]


def log_line(time: str, who: str, text: str, width: int) -> str:
    """Return one line of a log as it is shown; width: of the column of the ranks."""
    return f"{_time(time):<23} {who:<{width}} | {text}".rstrip()


def no_such_rank(runs: Iterable[RunRecord], setting: Mapping[str, Any] | None) -> str | None:
    """Return why the run does not have the rank of this setting; None if it has, or if its size is not known."""
    rank = number((setting or {}).get("value"))
    parts = list(runs)
    world_size = max((run.world_size or 0 for run in parts), default=0)
    if any(run.ranks is not None for run in parts):
        world_size = max((rank + 1 for run in parts for rank in run.ranks or ()), default=0)
    if setting is None or rank is None or not world_size or rank < world_size:
        return None
    last = f"0 to {world_size - 1}, the ranks of this run" if world_size > 1 else "0, the only rank of this run"
    return f"rank: expected {last}, saw {rank:.0f} ({setting.get('origin')})"


def _time(stamp: object) -> str:
    return clean(stamp).replace("T", " ").removesuffix("Z")
