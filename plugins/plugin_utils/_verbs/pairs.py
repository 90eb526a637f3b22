# SPDX-License-Identifier: GPL-3.0-or-later
"""`pairs`: a launch of Muster's own program, in which nodes measure each other in pairs, and what they found is slow.

It has the steps of a launch. The head has judged what was measured, as it chose by that who measures whom; `report`
names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.pairs import read_search

from .._action.files import read_text, relative
from .._findings.errors import UserError
from .._report.pairs import page, text
from .._report.pairs.outcome import FILE, PairsOutcome
from .._request.settings import values
from .._text.plain import plain
from .._text.table import aligned, table
from .files import json_file
from .find import shared_answer, subject
from .launch import PLAN
from .record import OPTION
from .report_files import EXPECTED, report_page
from .step import Conclude, Conclusion, Play, Tone

DOCUMENT, PAGE = "pairs.json", "pairs.html"


@Conclude
def report(play: Play) -> Conclusion:
    """Report what is slow or broken; fail if anything is, or if it cannot be told."""
    run_id, _head = subject(play)
    home = Path(play.request["experiments"], run_id)
    plan: Mapping[str, Any] = plain(shared_answer(play, PLAN)["plan"])
    search = read_search(parse_json(read_text(home / FILE)))
    if search is None or not search.samples or search.nodes != len(plan["nodes"]):
        raise UserError(f"{run_id}: {relative(home / FILE)} has no measurements: see the logs of the run")
    asked = values(plan)
    outcome = PairsOutcome(
        run_id,
        str(plan["created"]),
        plan.get("cluster"),
        *(asked["backend"], asked["bytes"], asked["tolerance"], [*plan["nodes"]], search),
    )
    lines: list[str | tuple[str, Tone]] = ["", text.title(outcome), ""]
    lines += table(text.HEADERS, text.rows(text.shown_nodes(outcome), outcome), play.width)
    lines += ["", *aligned(text.facts(outcome)), *((line, Tone.ERROR) for line in text.finding_lines(outcome))]
    failure = UserError("\n".join(text.finding_lines(outcome))) if search.is_bad else None
    document = outcome.to_dict()
    files = [
        replace(json_file(home / DOCUMENT, document, OPTION, EXPECTED), is_private=True),
        report_page(play.request, home / PAGE, page.render(outcome), [f"  page: {relative(home / PAGE)}"]),
    ]
    return Conclusion(
        lines=lines, files=files, document={"pairs": document}, failure=failure, is_shown=failure is not None
    )
