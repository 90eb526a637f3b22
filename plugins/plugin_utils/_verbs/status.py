# SPDX-License-Identifier: GPL-3.0-or-later
"""`status`: how a run is doing on every node, by its head and by the nodes that the head cannot describe.

After the steps of `find`, what was seen is shown, and kept where this controller has the experiment.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence

from .._findings.errors import UserError
from .._results.slot_queue import queue_data, queue_lines
from . import submitted
from .find import chosen, infos_of
from .overview import Overview
from .record import record_run
from .step import Conclude, Conclusion, Play, WantedFile


@Conclude
def report(play: Play) -> Conclusion:
    """Show the run, and record what was seen of it: `list` shows that."""
    if play.request.get("is_in_queue"):
        return submitted.report(play)
    run_id, infos = chosen(play)["run_id"], infos_of(play)
    overview = Overview.of(play, run_id, infos)
    files: Sequence[WantedFile] = ()
    # A status is of use where nothing can be recorded.
    with contextlib.suppress(UserError):
        files = record_run(play, infos, run_id, only_known=True).files
    return Conclusion(
        lines=overview.lines(waiting=queue_lines(overview.infos)),
        document={**overview.document(), "waiting": queue_data(overview.infos), "job": submitted.data(play, run_id)},
        files=[dataclasses.replace(file, is_needed=False) for file in files],
        result={"run_id": run_id, "verdict": overview.verdict.to_dict()},
    )
