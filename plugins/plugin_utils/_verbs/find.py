# SPDX-License-Identifier: GPL-3.0-or-later
"""How a verb finds its run, which is the newest where none is named.

`status`, `stop`, `shell` and `follow` first ask the nodes of which one is the head: `read`, `choose_by_head`. Mostly it
knows the run and describes all nodes, and only those that it cannot describe are asked: `read_others`. Where no head
knows it, all of them are, and the run is chosen among theirs: `choose`. A node where that is not the newest run is
asked for it: `read_chosen`. The other verbs ask all nodes from the beginning: `read`, `choose`, `read_chosen`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

from .._action.files import read_text
from .._findings.errors import UserError
from .._findings.invocation import Invocation
from .._request.verbs import LAUNCHES
from .._results import unanswered
from .._results.by_head import unknown_nodes
from .._results.infos import Info, read_infos, with_call
from .._results.pick import NoRun, pick
from .._results.ranks import head_candidates, planned
from .._text.plain import plain
from .step import Conclude, Conclusion, Play, ask

# What the steps register, the latest first.
BY_HEAD, CHOSEN = "launch__by_head", "launch__run"
READ = ("launch__chosen_info", "launch__other_info", "launch__info")
# Of these verbs the head says all that they need, if it knows the run.
OF_HEAD_ALONE = ("shell", "follow")
# Among so many lines a pattern is looked for; what is followed is read by another task.
GREP_LINES = 5000
# How long a node has to answer, in seconds.
ANSWER_S = 12


@frozen
class ChosenRun:
    """Which run a verb works on, and its head; run_id is None where no head knows it.

    heads are the nodes of which one is the head, and others those that have to be asked besides them.
    """

    run_id: str | None
    head: str | None
    heads: Sequence[str]
    others: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "hosts": [*self.heads, *self.others]}

    @classmethod
    def read(cls, play: Play) -> ChosenRun | None:
        """Return what `choose_by_head` has chosen; None where it was not a part of this verb."""
        known = play.read_answer(play.heads[0], BY_HEAD) if play.heads else None
        return cls(known["run_id"], known["head"], known["heads"], known["others"]) if known else None


def patience_s(play: Play) -> int:
    """Return how long a node has to answer: no less than the runners wait for a silent one, and more for many nodes."""
    lost_after = int(launch_policy(play, ["launch_lost_after"])["launch_lost_after"])
    return max(ANSWER_S, lost_after) + len(play.hosts) // 4


def read_options(play: Play, node: str, run_id: str | None) -> dict[str, Any]:
    """Return the options of `run_info` for a run, without one for the node's newest."""
    policy = launch_policy(play, ("launch_workdir", "launch_docker"))
    options = {"workdir": policy["launch_workdir"], "docker": policy["launch_docker"], "node": node}
    if run_id:
        options["run_id"] = run_id
    if play.request["verb"] == "logs":
        asked = play.parameters
        lines = 0 if asked["follow"] else max(asked["lines"], GREP_LINES if asked["grep"] else 0)
        options.update(lines=lines, **({} if asked["rank"] is None else {"rank": asked["rank"]}))
    return options


@ask("run_info", patience_s)
def read(play: Play, node: str) -> dict[str, Any] | None:
    """Read the run that was asked for, or the node's newest; of one in Slurm's queue no node knows."""
    return None if play.request.get("is_in_queue") else read_options(play, node, play.request.get("run_id"))


@Conclude
def choose_by_head(play: Play) -> Conclusion:
    """Choose the run by the nodes of which one is the head, and whom else to ask: all, where they do not know it."""
    if play.request.get("is_in_queue"):
        return Conclusion(result=ChosenRun(play.request["run_id"], play.heads[0], play.heads, []).to_dict())
    infos = read_infos((node, plain(play.read_answer(node, READ[-1]))) for node in play.heads)
    others = others_of(play)
    try:
        choice = _choose(play, infos, play.heads, others)
    except NoRun:
        return Conclusion(result=ChosenRun(None, None, play.heads, others).to_dict(), document=_document(infos))
    head = next((info for info in infos if info.run.run_id == choice.run_id and info.nodes), None)
    if play.request["verb"] in OF_HEAD_ALONE:
        choice = dataclasses.replace(choice, others=[])
    elif head is not None:
        unknown = unknown_nodes(head.run, head.nodes)
        choice = dataclasses.replace(choice, others=[node for node in others if node in unknown])
    return Conclusion(result=choice.to_dict(), document=_document(infos, choice.run_id))


@ask("run_info", patience_s)
def read_others(play: Play, node: str) -> dict[str, Any] | None:
    """Read the run where the head cannot describe it."""
    choice = ChosenRun.read(play)
    if choice is None or node not in choice.others:
        return None
    return read_options(play, node, choice.run_id or play.request.get("run_id"))


@Conclude
def choose(play: Play) -> Conclusion:
    """Choose the run among those of all nodes, unless the head knew it."""
    by_head = ChosenRun.read(play)
    if by_head is not None and by_head.run_id is not None:
        return Conclusion(result=by_head.to_dict())
    infos = infos_of(play)
    try:
        choice = _choose(play, infos, *((by_head.heads, by_head.others) if by_head else ((), nodes_of(play))))
    except NoRun as error:
        return Conclusion(document=_document(infos), failure=error)
    return Conclusion(result=choice.to_dict(), document=_document(infos, choice.run_id))


@ask("run_info", patience_s)
def read_chosen(play: Play, node: str) -> dict[str, Any] | None:
    """Read the run where it is not the newest, which has been read; a node that did not answer is not asked again."""
    by_head, run_id = ChosenRun.read(play), chosen(play)["run_id"]
    if by_head is not None and (by_head.run_id is not None or node not in by_head.others):
        return None
    run = as_dict(as_dict(latest(play, node)).get("run"))
    return read_options(play, node, run_id) if run.get("run_id", run_id) != run_id else None


def chosen(play: Play) -> Mapping[str, Any]:
    """Return the run that `choose` has chosen: run_id and head."""
    return shared_answer(play, CHOSEN) or {"run_id": None, "head": None}


def shared_answer(play: Play, name: str) -> Mapping[str, Any]:
    """Return what a step has concluded for all nodes, empty without one: the hosts of its play have registered it."""
    answers = (play.read_answer(host, name) for host in (*play.heads, *nodes_of(play)))
    return next((answer for answer in answers if answer), {})


def subject(play: Play) -> tuple[str, str]:
    """Return the run ID and the head of the run: those of the plan of a launch, else what `choose` has chosen."""
    if play.request["verb"] in LAUNCHES:
        plan = shared_answer(play, "launch__plan")["plan"]
        return str(plan["run_id"]), str(plan["head"]["node"])
    choice = chosen(play)
    if choice["run_id"] is None:
        raise UserError("no step has chosen a run before: import the playbook of the verb")
    return str(choice["run_id"]), str(choice["head"])


def launch_policy(play: Play, names: Sequence[str], host: str | None = None) -> dict[str, Any]:
    """Return variables of the role `launch` as the task's host has them, or one that the task is delegated to."""
    of_host = play.read_values(host, names) if host else {}
    return {**{name: play.launch_defaults[name] for name in names}, **play.read_policy(names), **of_host}


def nodes_of(play: Play) -> list[str]:
    """Return the nodes that a verb may ask."""
    return [*(play.request.get("nodes") or play.groups.get("nodes", [])), *play.request.get("spares", [])]


def others_of(play: Play) -> list[str]:
    """Return the nodes that are asked besides the heads; a spare is one of those, or not needed."""
    spares = {*play.heads, *play.request.get("spares", [])}
    return [node for node in nodes_of(play) if node not in spares]


def latest(play: Play, node: str, names: Sequence[str] = READ) -> Any:
    """Return what a node answered to the last step that asked it; names are those that the steps register."""
    answers = [answer for name in names if (answer := play.read_answer(node, name)) is not None]
    answer = next((answer for answer in answers if not answer.get("skipped")), answers[-1] if answers else None)
    return plain(answer)


def infos_of(play: Play, names: Sequence[str] = READ, nodes: Sequence[str] | None = None) -> list[Info]:
    """Return the answers of the nodes; those that a verb did not ask may have answered an earlier one."""
    # In the end a follow asks all.
    by_head = None if play.request["verb"] == "follow" else ChosenRun.read(play)
    asked = None if by_head is None else {*by_head.heads, *by_head.others}
    infos = read_infos(
        (node, latest(play, node, names) if asked is None or node in asked else None)
        for node in (nodes_of(play) if nodes is None else nodes)
    )
    return with_call(infos, Invocation.of(play.request))


def _choose(play: Play, infos: Sequence[Info], heads: Sequence[str], others: Sequence[str]) -> ChosenRun:
    workdirs = {info.node: play.read_values(info.node, ["launch_workdir"]) for info in infos}
    known = {node: str(values["launch_workdir"]) for node, values in workdirs.items() if values}
    run_id = pick(infos, play.request.get("run_id"), play.request.get("call"), known, play.request["verb"])
    return ChosenRun(run_id, _head(play, infos, run_id), heads, others)


def _head(play: Play, infos: Sequence[Info], run_id: str) -> str | None:
    """Return the node with node rank 0: by the plan that is here, else as a spare says; else the group's first."""
    nodes, spares = play.groups.get("nodes", []), play.groups.get("spares", [])
    experiments = play.request.get("experiments")
    candidates = head_candidates(infos, run_id, nodes, spares) if spares else []
    plan = parse_json(read_text(Path(experiments, run_id, "plan.json"))) if spares and experiments else None
    by_plan = [node for node, part in (planned(plan) or {}).items() if part.first_rank == 0]
    return next((node for node in (*by_plan, *candidates, *nodes) if node in (*nodes, *spares)), None)


def _document(infos: Sequence[Info], run_id: str | None = None) -> dict[str, Any]:
    return {"errors": unanswered.errors(infos), **({"run_id": run_id} if run_id else {})}
