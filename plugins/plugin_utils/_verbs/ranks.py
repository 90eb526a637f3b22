# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks each node of a run has: by the experiment's plan, and without one by the head's."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._results import ranks
from .._text.table import node_names, one_line
from .copies import part_of
from .find import infos_of, launch_policy, subject
from .record import OPTION, experiment_of
from .step import Conclude, Conclusion, Play, WantedFile

# That of 1,000 nodes has about 10 MB.
PLAN_BYTES = 64 << 20


@Conclude
def read(play: Play) -> Conclusion:
    """Return each node's part; delegated to the head, which alone may give a plan, and which then is kept here."""
    run_id, head = subject(play)
    experiment = experiment_of(play, run_id)
    path, spares = Path(str(experiment), "plan.json"), play.groups.get("spares", [])
    files, warnings = [], []
    text, is_here = read_text(path), True
    if text is None:
        text, why = _read_plan_of_head(play, run_id, head)
        if text is None:
            warnings.append(_no_plan(run_id, experiment, why))
        else:
            files, is_here = [WantedFile(path, text, OPTION, is_private=True, has_diff=False)], False
    plan = parse_json(text)
    parts = ranks.planned(plan)
    by_plan = parts is not None
    if parts is not None and any(part.first_rank is None for part in parts.values()):
        # A spare may have replaced a node since the head was last read.
        answer = play.host.run_module("run_info", _place(play, run_id, head))
        parts = ranks.confirm_spares(parts, RunRecord.from_dict(answer.get("run")))
    if parts is None:
        parts, refused = ranks.claimed(infos_of(play), run_id, spares)
        warnings += refused
    elif is_here:
        nonce = infos_of(play, nodes=[head])[0].run.nonce
        if nonce is not None and nonce != as_dict(plan).get("nonce"):
            warnings.append(
                f"{path} is of another launch of {run_id} than the run on {head}, and ranks are taken from it; "
                "to take the head's plan, move it away"
            )
    known = {node: dataclasses.asdict(part) for node, part in parts.items()}
    return Conclusion(files=files, warnings=list(map(clean, warnings)), result={"by_plan": by_plan, "parts": known})


def _no_plan(run_id: str, experiment: str | None, why: str) -> str:
    return (
        f"there is no plan of {run_id} in {experiment}, and none is taken from the nodes: {why}; "
        "the ranks that the nodes report are used. Collect from the controller that launched the run, or copy its "
        "plan.json there"
    )


def _read_plan_of_head(play: Play, run_id: str, head: str) -> tuple[str | None, str]:
    """Return the head's plan; None and why where there is none, or two nodes say that they are the head."""
    nodes, spares = (play.groups.get(group, []) for group in ("nodes", "spares"))
    heads = ranks.head_candidates(infos_of(play), run_id, nodes, spares)
    if len(heads) > 1:
        return None, f"{node_names(heads)} claim to be the head"
    data, last = b"", False
    while not last and len(data) < PLAN_BYTES:
        part = {**_place(play, run_id, head), "path": "plan.json", "offset": len(data)}
        answer = play.host.run_module("run_file", part)
        if answer.get("unreachable"):
            return None, f"{head} does not answer: {one_line(answer.get('msg'))}"
        if answer.get("failed"):
            return None, f"{head}: {one_line(answer.get('msg'))}"
        try:
            block = part_of(answer)
        except ValueError as error:
            return None, f"{head}: {one_line(error)}"
        data, last = data + block, answer["last"] or not block
    if not last:
        return None, f"{head}: it is larger than {PLAN_BYTES >> 20} MiB"
    return data.decode("utf-8", "replace"), ""


def _place(play: Play, run_id: str, head: str) -> Mapping[str, Any]:
    """Return where the run is on the head, by its own work directory; the task's would be the first host's."""
    workdir = launch_policy(play, ("launch_workdir",), head)["launch_workdir"]
    return {"workdir": str(workdir), "run_id": run_id, "node": head}
