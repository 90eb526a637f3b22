# SPDX-License-Identifier: GPL-3.0-or-later
"""`stop`: the head ends its run everywhere, then nodes where something may be left are asked; without a head, all are.

`find` asks the head. If it knows the run, that is announced (`announce_by_head`), the head stops it (`stop_by_head`),
and `choose_rest` names the nodes on which a stop still has something to look for. If no head knows it, `find` chooses
the run among those of all nodes, and that is announced (`announce`). The nodes that are left are stopped themselves
(`stop_rest`), and what has become of the run is recorded and shown (`report`). The job of a submitted run ends with it
(`end_job`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .._results import report as texts
from .._results.by_head import unfinished_nodes
from . import submitted
from .find import READ, ChosenRun, chosen, infos_of, latest, launch_policy, others_of
from .overview import Overview
from .record import record_run
from .step import Conclude, Conclusion, Play, ask

ANSWERS = ("launch__rest", "launch__stopped", *READ)


@Conclude
def announce_by_head(play: Play) -> Conclusion:
    """Say whom the stop asks, and for how long it may take, where the head knows the run."""
    choice = _known_by_head(play)
    return _announce(play, choice.run_id) if choice else Conclusion()


@ask("run_stop")
def stop_by_head(play: Play, node: str) -> dict[str, Any] | None:
    """Stop the run on its head, if that knows it."""
    choice = _known_by_head(play)
    return _options(play, node, choice.run_id) if choice else None


@Conclude
def choose_rest(play: Play) -> Conclusion:
    """Choose the nodes where something may be left after the head has stopped its run."""
    choice = _known_by_head(play)
    if choice is None:
        standing = ChosenRun.read(play)
        return Conclusion(result=standing.to_dict() if standing else {})
    infos, others = infos_of(play, ANSWERS, choice.heads), others_of(play)
    head = next((info for info in infos if info.run.run_id == choice.run_id and info.nodes), None)
    unfinished = others if head is None else unfinished_nodes(head.run, head.nodes, others)
    return Conclusion(result=dataclasses.replace(choice, others=unfinished).to_dict())


@Conclude
def announce(play: Play) -> Conclusion:
    """Say the same where the run was found on the nodes themselves."""
    choice = ChosenRun.read(play)
    return Conclusion() if choice and choice.run_id else _announce(play, chosen(play)["run_id"])


@ask("run_stop")
def stop_rest(play: Play, node: str) -> dict[str, Any] | None:
    """Stop the run on a node that is left, and has answered: one that did not is not waited for again."""
    choice = ChosenRun.read(play)
    is_left = choice is not None and node in choice.others and "run" in as_dict(latest(play, node))
    return _options(play, node, chosen(play)["run_id"]) if is_left else None


@Conclude
def report(play: Play) -> Conclusion:
    """Show what has become of the run, and record it; fail if a node of it was not reached."""
    if play.request.get("is_in_queue"):
        return Conclusion()
    run_id, infos = chosen(play)["run_id"], infos_of(play, ANSWERS)
    overview = Overview.of(play, run_id, infos)
    record = record_run(play, infos, run_id)
    return Conclusion(
        lines=overview.lines(texts.already_ended(overview.infos, run_id)),
        document=overview.document(),
        files=record.files,
        links=record.links,
        failure=overview.missing("the run was not reached"),
    )


@Conclude
def end_job(play: Play) -> Conclusion:
    """End the job that the run was submitted as, after the run if that is on nodes."""
    run_id = play.request.get("run_id") or chosen(play)["run_id"]
    return submitted.end(play, str(run_id)) if run_id else Conclusion()


def _known_by_head(play: Play) -> ChosenRun | None:
    """Return the run where its head knows it; one that waits in a queue is on no node."""
    choice = None if play.request.get("is_in_queue") else ChosenRun.read(play)
    return choice if choice and choice.run_id else None


def _announce(play: Play, run_id: str | None) -> Conclusion:
    grace = launch_policy(play, ["launch_stop_grace"])["launch_stop_grace"]
    return Conclusion(lines=texts.asking(infos_of(play), run_id, int(grace)))


def _options(play: Play, node: str, run_id: str | None) -> dict[str, Any]:
    policy = launch_policy(play, ("launch_workdir", "launch_stop_grace", "launch_docker"))
    return {
        "workdir": policy["launch_workdir"],
        "run_id": run_id,
        "grace": policy["launch_stop_grace"],
        "node": node,
        "docker": policy["launch_docker"],
    }
