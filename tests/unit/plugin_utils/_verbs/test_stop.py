# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom a stop asks, with what, and which of a node's answers counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import ReportedError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import stop
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

POLICY = {"launch_workdir": "/data", "launch_stop_grace": 5}
OPTIONS = {"workdir": "/data", "run_id": RUN_ID, "grace": 5, "docker": ["docker"]}
BY_HEAD: dict[str, Any] = {"run_id": RUN_ID, "head": "node0", "heads": ["node0"], "others": ["node2"]}
# What is chosen where no head knows the run.
BY_NODES: dict[str, Any] = {"run_id": None, "head": None, "heads": ["node0"], "others": ["node1", "node2"]}
NODES = ("node0", "node1", "node2")
SILENT = {"unreachable": True, "msg": "no route"}


def play(choice: dict[str, Any], request: dict[str, Any] | None = None, **answers: dict[str, Any]) -> Play:
    """A stop of three nodes, after this choice, with what they have registered."""
    hosts = {node: answers.get(node, {}) for node in NODES}
    hosts["node0"] = {"launch__by_head": choice, **hosts["node0"]}
    return play_of("stop", hosts, policy=POLICY, **(request or {}))


def run_of(node: str, phase: str, **more: Any) -> dict[str, Any]:
    """What a module answers of the run on a node."""
    answer: dict[str, Any] = info(node, phase, nnodes=3, **more)["launch__info"]
    return answer


def ended(states: dict[str, str], **more: Any) -> dict[str, Any]:
    """The answer of a head that has stopped its run, with what it knows of the nodes."""
    nodes = [
        {"node": node, "number": number, "node_rank": number, "state": state, "heard_s": 1.0, "phase": "stopped"}
        for number, (node, state) in enumerate(states.items())
    ]
    return {**run_of("node0", "stopped", end={"verdict": "stopped"}, **more), "nodes": nodes}


def test_the_head_stops_its_run() -> None:
    assert stop.stop_by_head.options(play(BY_HEAD), "node0") == {**OPTIONS, "node": "node0"}
    assert stop.stop_by_head.options(play(BY_NODES), "node0") is None


@pytest.mark.parametrize("choice", [BY_HEAD, BY_NODES])
def test_a_stop_is_announced_once(choice: dict[str, Any]) -> None:
    active = {"launch__info": {**run_of("node0", "running"), "runs": [{"run_id": RUN_ID, "alive": True}]}}
    announced = [step.conclusion(play(choice, node0=active)) for step in (stop.announce_by_head, stop.announce)]
    if choice is BY_NODES:
        announced.reverse()
    [line] = texts(announced[0])
    assert "node0" in line and "node1" not in line
    assert announced[1] == Conclusion()


def test_nothing_is_announced_where_no_runner_is_alive() -> None:
    assert stop.announce.conclusion(play(BY_NODES, node0=info("node0", "failed"))) == Conclusion(lines=[])


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        (ended({"node0": "exited", "node1": "exited", "node2": "exited"}), []),
        (ended({"node0": "exited", "node1": "exited", "node2": "lost"}), ["node2"]),
        (ended({"node0": "exited", "node1": "exited"}), ["node2"]),
        (ended({"node0": "exited", "node1": "exited", "node2": "exited"}, starter="docker"), ["node1", "node2"]),
        (run_of("node0", "stopped"), ["node1", "node2"]),  # without its nodes
        (SILENT, ["node1", "node2"]),
        (None, ["node1", "node2"]),
    ],
)
def test_the_rest_are_nodes_where_something_may_be_left(answer: dict[str, Any] | None, rest: list[str]) -> None:
    chosen = stop.choose_rest.conclusion(play({**BY_HEAD, "others": []}, node0={"launch__stopped": answer})).result
    assert chosen == {**BY_HEAD, "others": rest, "hosts": ["node0", *rest]}


def test_the_rest_stay_as_chosen_where_no_head_knows_the_run() -> None:
    chosen = stop.choose_rest.conclusion(play(BY_NODES)).result
    assert chosen == {**BY_NODES, "hosts": list(NODES)}


@pytest.mark.parametrize(("choice", "stopped"), [(BY_HEAD, ["node2"]), (BY_NODES, ["node1", "node2"])])
def test_nodes_that_are_left_are_stopped(choice: dict[str, Any], stopped: list[str]) -> None:
    rest = play(choice, **{node: {"launch__other_info": run_of(node, "running")} for node in NODES})
    options = {node: stop.stop_rest.options(rest, node) for node in NODES}
    assert {node: asked for node, asked in options.items() if asked} == {
        node: {**OPTIONS, "node": node} for node in stopped
    }


@pytest.mark.parametrize("answer", [None, SILENT, {"failed": True, "msg": "x"}])
def test_a_node_that_did_not_answer_is_not_waited_for_again(answer: dict[str, Any] | None) -> None:
    assert stop.stop_rest.options(play(BY_NODES, node2={"launch__other_info": answer}), "node2") is None


@pytest.mark.parametrize(
    ("choice", "node", "registered", "phase"),
    [
        (BY_HEAD, "node0", {"info": "running", "stopped": "stopped"}, "stopped"),
        (BY_HEAD, "node2", {"other_info": "running", "rest": "stopped"}, "stopped"),
        (BY_HEAD, "node2", {"other_info": "failed", "chosen_info": None, "rest": None}, "failed"),
        (BY_NODES, "node0", {"info": "running", "stopped": None, "chosen_info": None, "rest": None}, "running"),
        (BY_NODES, "node1", {"other_info": "running", "chosen_info": "waiting", "rest": None}, "waiting"),
        (BY_NODES, "node1", {"other_info": "running", "chosen_info": "waiting", "rest": "stopped"}, "stopped"),
    ],
)
def test_the_last_answer_counts(
    choice: dict[str, Any], node: str, registered: dict[str, str | None], phase: str, tmp_path: Path
) -> None:
    answers = {
        f"launch__{name}": {"skipped": True} if known is None else run_of(node, known)
        for name, known in registered.items()
    }
    document = stop.report.conclusion(play(choice, {"experiments": str(tmp_path)}, **{node: answers})).document
    assert document is not None
    assert [part["phase"] for part in document["nodes"] if part["node"] == node] == [phase]


def test_the_outcome_is_recorded_and_a_node_that_was_not_reached_fails_the_stop(tmp_path: Path) -> None:
    answers = {
        "node0": {"launch__by_head": BY_NODES, "launch__rest": run_of("node0", "stopped")},
        "node1": {"launch__rest": SILENT},
    }
    conclusion = stop.report.conclusion(play_of("stop", answers, experiments=str(tmp_path)))
    assert [file.path for file in conclusion.files] == [tmp_path / RUN_ID / "run.yml"]
    assert isinstance(conclusion.failure, ReportedError)
    assert conclusion.document is not None
    assert [error["node"] for error in conclusion.document["errors"]] == ["node1"]
