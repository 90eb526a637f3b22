# SPDX-License-Identifier: GPL-3.0-or-later
"""`stacks`: where the threads of every rank are, for a run that stands still.

After the steps of `find`, each node takes the stacks of its ranks (`take`). They are kept in the experiment, a file a
rank, and shown with those that are alike together (`report`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._findings.errors import UserError
from .._request.hints import command, hints
from .._results import stacks, unanswered
from .._results.infos import Info, runs_of
from .._results.report import no_such_rank
from .._results.verdict import judge, members
from .._text.table import aligned
from .find import chosen, infos_of, launch_policy, patience_s
from .record import OPTION
from .step import Conclude, Conclusion, Play, WantedFile, ask

HINTS = ("logs", "stop")
# For py-spy, and then for ranks that give no answer, in a container for half a minute.
TAKING_S = 30


@ask("run_stacks", lambda play: patience_s(play) + TAKING_S)
def take(play: Play, node: str) -> dict[str, Any]:
    """Take the stacks of the ranks on a node."""
    policy = launch_policy(play, ("launch_workdir", "launch_python", "launch_docker"))
    rank = play.parameters["rank"]
    return {
        "workdir": policy["launch_workdir"],
        "run_id": chosen(play)["run_id"],
        "node": node,
        "python": policy["launch_python"],
        "docker": policy["launch_docker"],
        **({} if rank is None else {"rank": rank}),
    }


@Conclude
def report(play: Play) -> Conclusion:
    """Show which stacks are alike, and keep each."""
    run_id, infos = str(chosen(play)["run_id"]), infos_of(play, ["launch__stacks"])
    call = play.request.get("call")
    if wrong := no_such_rank(members(runs_of(infos)), play.request["parameters"].get("rank")):
        raise UserError(clean(wrong))
    items = stacks.stacks_of(infos)
    folder = _folder(play, run_id)
    texts = {
        item.file_name: stacks.text_of(item, run_id, play.request["created"]) for item in items if item.stacks.threads
    }
    files = [WantedFile(folder / name, text, OPTION, is_private=True, has_diff=False) for name, text in texts.items()]
    directory = os.path.abspath(folder) if files and not play.is_checked else None
    where = [("stacks", relative(directory))] if directory else []
    missing = unanswered.lines(infos)
    shown = ["", *stacks.lines_of(items, play.width), *missing, "", *aligned([*where, *hints(run_id, call, HINTS)])]
    failure = None
    if not items:
        failure = UserError(clean(_why_none(run_id, infos, missing, call)))
    elif not files:
        failure = UserError(f"{clean(run_id)}: no rank has shown its stacks; the reasons are above")
    return Conclusion(
        lines=shown if items else (),
        document=stacks.document_of(run_id, infos, items, directory),
        files=files,
        failure=failure,
    )


def _folder(play: Play, run_id: str) -> Path:
    """Return the directory of these stacks: that of another look at the run has another time."""
    created = str(play.request["created"]).replace("-", "").replace(":", "")
    return Path(play.request["experiments"], run_id, "stacks", created)


def _why_none(run_id: str, infos: Sequence[Info], missing: Sequence[str], call: str | None) -> str:
    """Return why there are no stacks at all."""
    if any(info.run.alive for info in infos):
        where = "; ".join(missing) or "they have not started yet, have just ended, or are not Python"
        return f"{run_id}: no process of a rank was found: {where}"
    if missing:
        return f"{run_id}: {'; '.join(missing)}"
    logs = command("logs", run_id, call)
    return f"{run_id} {judge(runs_of(infos)).verdict}: only living processes have stacks; its last lines: {logs}"
