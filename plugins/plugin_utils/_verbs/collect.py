# SPDX-License-Identifier: GPL-3.0-or-later
"""`collect`: a run's files from every node, and what became of the run. `launch` and `follow` end with the same steps.

After the steps of `find` and `ranks`, the action `run_collect` copies each node's files. The verdict is recorded
(`record`) before it is reported (`report`).
"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import ReportedError
from .._results.documents import of_verdict, with_cause
from .find import infos_of, subject
from .overview import Overview
from .record import record_run
from .step import Conclude, Conclusion, Play

# What the action registers.
COLLECTED = ("launch__collected",)


@Conclude
def record(play: Play) -> Conclusion:
    """Record the verdict."""
    run_id, _head = subject(play)
    record = record_run(play, infos_of(play, COLLECTED), run_id)
    return Conclusion(files=record.files, link=record.link, result={"run_id": run_id, **record.to_dict()})


@Conclude
def report(play: Play) -> Conclusion:
    """Show the verdict; fail if a node was not reached, or the verdict is not what the playbook waits for."""
    run_id, _head = subject(play)
    overview = Overview.of(play, run_id, infos_of(play, COLLECTED))
    failure, document = overview.missing("no files of the run were collected"), overview.document()
    wanted = play.read_policy(["launch__succeed_on"]).get("launch__succeed_on") or [overview.verdict.verdict]
    has_failed = overview.verdict.verdict not in wanted
    if has_failed:
        error = of_verdict(run_id, overview.verdict)
        # One line: the rest is shown.
        failure, document = ReportedError(clean(error["message"])), with_cause(document, error)
    return Conclusion(lines=overview.lines(has_places=True), document=document, failure=failure, is_shown=has_failed)
