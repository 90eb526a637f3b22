# SPDX-License-Identifier: GPL-3.0-or-later
"""`launch`, from the start of the runners: how to go on with the run, or which nodes did not start, and its record."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import ReportedError, error_record
from .._request.hints import hints
from .._results import documents, report
from .._text.plain import plain
from .._text.table import aligned
from .find import infos_of, shared_answer, subject
from .overview import ShownLines, shown_experiment
from .record import experiment_of, record_run
from .step import Conclude, Conclusion, Play, Tone

HINTS = ("follow", "stop", "status", "logs")


@Conclude
def refuse(play: Play) -> Conclusion:
    """Report which nodes failed to start."""
    run_id, _head = subject(play)
    infos = infos_of(play)
    why, lines = report.not_started(infos, _joined(play).get("msg"))
    message = clean(f"{run_id} did not start: {why}")
    shown = [clean(f"{run_id} did not start:"), *lines] if lines else [message]
    return Conclusion(
        lines=[(line, Tone.ERROR) for line in shown],
        document=documents.with_cause(documents.of_run(run_id, infos), error_record(message)),
        failure=ReportedError(message),
        is_shown=True,
    )


@Conclude
def announce(play: Play) -> Conclusion:
    """Show the run ID and the next commands: whatever happens here, the user knows how to go on."""
    run_id, _head = subject(play)
    why = _joined(play).get("why")
    where = report.places([], shown_experiment(play, run_id))
    commands = aligned([*hints(run_id, play.request.get("call"), HINTS), *where])
    warning: ShownLines = ["", (clean(why), Tone.WARNING)] if why else []
    return Conclusion(
        lines=[*warning, "", f"run {clean(run_id)}", *commands],
        document=documents.of_run(run_id, infos_of(play), experiment=experiment_of(play, run_id)),
        result={"run_id": run_id},
    )


@Conclude
def record(play: Play) -> Conclusion:
    """Keep the plan, and what is known of the run; where it is not known whether it started, by the nodes' answers."""
    run_id, _head = subject(play)
    joined, plan = _joined(play), plain(shared_answer(play, "launch__plan")["plan"])
    phase = joined.get("phase") if joined.get("ended") or not joined.get("phase") else "running"
    infos = infos_of(play, nodes=[*plan["nodes"], *plan.get("spares", [])])
    record = record_run(play, infos, run_id, plan, phase)
    return Conclusion(files=record.files, link=record.link)


def _joined(play: Play) -> dict[str, Any]:
    """Return how waiting for all nodes to join has ended."""
    joined: dict[str, Any] = plain(shared_answer(play, "launch__joined"))
    return joined
