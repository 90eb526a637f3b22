# SPDX-License-Identifier: GPL-3.0-or-later
"""`collect`: a run's files from every node, and what became of the run. `launch` and `follow` end with the same steps.

After the steps of `find` and `ranks`, each node says which files of the run it has, and those that are new are copied
into the experiment (`fetch`). The verdict is recorded (`record`) before it is reported (`report`), and before the
command for the end of a launched run, which `record` returns, is started.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.notice import is_sent
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.private import private_files
from .._findings.errors import ReportedError
from .._request.verbs import LAUNCHES
from .._results.collected import node_log_name, target
from .._results.documents import of_verdict, with_cause
from .._results.ranks import ranks_of
from .._text.plain import plain
from .copies import FileCopier, alone, is_older, write_node_log
from .find import infos_of, launch_policy, shared_answer, subject
from .overview import Overview
from .record import Experiment, experiment_of, record_run
from .step import Conclude, Conclusion, Play, Unreachable, Visit

COLLECTED = ("launch__collected",)
POLICY = (
    *("launch_workdir", "launch_docker", "launch_shared_output_dir"),
    *("launch_collect_exclude", "launch_collect_limit_mib"),
)


@Visit
def fetch(play: Play, node: str) -> Mapping[str, Any] | None:
    """Copy the node's files of the run, except those that are here already."""
    if play.request["verb"] in LAUNCHES and node not in shared_answer(play, "launch__plan")["plan"]["jobs"]:
        return None  # it only has files of earlier launches
    run_id, _head = subject(play)
    policy, ranks = launch_policy(play, POLICY), shared_answer(play, "launch__ranks")
    part = plain(ranks.get("parts", {}).get(node, {}))
    # What all nodes share is collected once.
    shared = policy["launch_shared_output_dir"] if part.get("first_rank") == 0 else None
    place = {"workdir": policy["launch_workdir"], "run_id": run_id, "node": node}
    place.update({"shared_output_dir": shared} if shared else {})
    listing = {
        "files": True,
        "docker": policy["launch_docker"],
        "wait": play.read_policy(["launch__wait"]).get("launch__wait", 0),
        "exclude": policy["launch_collect_exclude"],
        "limit_mib": policy["launch_collect_limit_mib"],
    }
    info = play.host.run_module("run_info", {**place, **listing})
    if info.get("failed") or info.get("unreachable"):
        return info
    run, home = RunRecord.from_dict(info["run"]), Path(str(experiment_of(play, run_id)))
    # Node rank and ranks come from the controller: a node must not choose where its files go.
    node_rank = [*play.groups["nodes"], *play.groups.get("spares", [])].index(node)
    of_node, refused = ranks_of(part, run, ranks.get("by_plan", True))
    of_outputs = range(part["nproc"] * part["nnodes"]) if shared else of_node
    targets = {
        file["path"]: target(file["path"], node_rank, of_node, of_outputs, run.ranks is not None)
        for file in info["files"]
    }
    copier = FileCopier(play, place, run, info["shared_outputs"])
    if refused:
        copier.warnings.append(f"{node}: {refused}")
    fetched, has_spares = [], "spares" in play.groups
    try:
        with private_files():
            for file in info["files"]:
                below = targets[file["path"]]
                if below is None:
                    continue
                with alone(home / below) if has_spares else contextlib.nullcontext():
                    if has_spares and is_older(file, home / below):
                        continue
                    if copier.copy(file, home / below):
                        fetched.append(below)
            if fetched and not play.is_checked:
                here = {path: home / below for path, below in targets.items() if below is not None}
                write_node_log(home / node_log_name(node_rank, run.created), here)
    except Unreachable as error:
        return {"unreachable": True, "msg": str(error), "warnings": copier.warnings}
    result = {"run": info["run"], "fetched": fetched, "remaining": info["remaining"], "changed": bool(fetched)}
    return {**result, **({"warnings": copier.warnings} if copier.warnings else {})}


@Conclude
def record(play: Play) -> Conclusion:
    """Record the verdict."""
    run_id, _head = subject(play)
    record = record_run(play, infos_of(play, COLLECTED), run_id)
    result = {"run_id": run_id, **record.to_dict(), **_end_command(play, run_id, record)}
    return Conclusion(files=record.files, links=record.links, result=result)


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


def _end_command(play: Play, run_id: str, record: Experiment) -> dict[str, Any]:
    """Return the command for the end of a launched run, nothing without one, and where the head sends a notice."""
    on_end = play.parameters.get("on_end")
    if not on_end or is_sent(on_end):
        return {}
    environment = {
        "MUSTER_RUN_ID": run_id,
        "MUSTER_VERDICT": record.verdict.verdict if record.verdict else "",
        "MUSTER_EXPERIMENT": str(record.home or ""),
    }
    stdin = json.dumps(record.to_dict()["verdict"])
    return {"end_command": {"cmd": on_end, "stdin": stdin, "environment": environment}}
