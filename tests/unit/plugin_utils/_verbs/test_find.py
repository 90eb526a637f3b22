# SPDX-License-Identifier: GPL-3.0-or-later
"""How a verb finds its run: whom it asks, and what it chooses by their answers."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.plugin_utils._results.pick import NoRun
from ansible_collections.muster.train.plugins.plugin_utils._verbs import find
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.verbs import play_of

NEWEST = {"node0": "run2", "node1": "run1"}
SILENT = {"launch__info": {"unreachable": True, "msg": "x"}}


def host(*run_ids: str, **more: Any) -> dict[str, Any]:
    runs = [{"run_id": run_id, "created": f"2026-11-20T14:30:5{run_id[-1]}Z", "phase": "running"} for run_id in run_ids]
    return {"launch__info": {"run": {"node": None, "phase": "not_found"}, "runs": runs}, **more}


def chosen(hosts: dict[str, Any], run_id: str | None = None, verb: str = "collect", **request: Any) -> Conclusion:
    return find.choose.conclusion(play_of(verb, hosts, run_id=run_id, **request))


def run_id_of(conclusion: Conclusion) -> str | None:
    run_id: str | None = conclusion.result["run_id"]
    return run_id


def test_the_newest_run() -> None:
    conclusion = chosen({"node0": host("run1"), "node1": host("run2")})
    assert (run_id_of(conclusion), conclusion.result["head"]) == ("run2", "node0")


def test_the_run_that_the_request_names() -> None:
    hosts = {"node0": host("run1", "run2", "run3")}
    assert run_id_of(chosen(hosts, "run1")) == "run1"
    assert run_id_of(chosen(hosts)) == "run3"


def test_a_stop_prefers_an_active_run() -> None:
    hosts = {"node0": host("run1", "run2")}
    hosts["node0"]["launch__info"]["runs"][0]["alive"] = True
    by_head = {"run_id": None, "head": None, "heads": [], "others": ["node0"]}
    assert run_id_of(chosen({"node0": {**hosts["node0"], "launch__by_head": by_head}}, verb="stop")) == "run1"


def test_only_the_nodes_of_the_request_count() -> None:
    hosts = {"node0": host("run1"), "node1": host("run2")}
    assert run_id_of(chosen(hosts, nodes=["node0"])) == "run1"


def test_without_a_run_it_says_where_it_looked() -> None:
    conclusion = chosen({"node0": host(launch_workdir="/data/muster"), "node1": SILENT})
    assert isinstance(conclusion.failure, NoRun)
    assert all(word in str(conclusion.failure) for word in ("node0:/data/muster", "node1", "muster.train.launch"))
    assert conclusion.document is not None
    assert [error["node"] for error in conclusion.document["errors"]] == ["node1"]


def test_the_head_is_a_spare_by_the_plan_or_by_its_own_word(tmp_path: Path) -> None:
    hosts = {"node0": host("run1"), "spare0": host("run1"), "spare1": host("run1")}

    def head() -> str:
        play = play_of("collect", hosts, run_id="run1", experiments=str(tmp_path))
        groups = {"nodes": ["node0"], "spares": ["spare0", "spare1"]}
        return str(find.choose.conclusion(dataclasses.replace(play, groups=groups)).result["head"])

    assert head() == "node0"
    hosts["spare0"]["launch__info"]["run"] = {"run_id": "run1", "phase": "running", "node_rank": 0}
    assert head() == "spare0"
    (tmp_path / "run1").mkdir()
    (tmp_path / "run1" / "plan.json").write_text('{"nodes": ["spare1"], "nproc": 1}')
    assert head() == "spare1"
    (tmp_path / "run1" / "plan.json").write_text('{"nodes": ["not in the inventory"], "nproc": 1}')
    assert head() == "spare0"


def headed(head: dict[str, Any], **others: dict[str, Any]) -> Play:
    """A play that asks the head first, and has asked others."""
    return play_of("status", {"node0": head, "node1": {}, "node2": {}, **others}, run_id=None)


def with_choice(play: Play) -> Play:
    """The play after `choose_by_head`."""
    choice, before = find.choose_by_head.conclusion(play).result, play.read_answer
    return dataclasses.replace(
        play, read_answer=lambda host, name: choice if name == "launch__by_head" else before(host, name)
    )


def knowing(**states: str) -> dict[str, Any]:
    """The answer of a head with what it knows of the nodes."""
    answer = host("run1")
    answer["launch__info"]["run"] = {
        "run_id": "run1",
        "node": "node0",
        "phase": "running",
        "alive": True,
        "node_rank": 0,
        "nproc": 1,
        "nnodes": 3,
    }
    answer["launch__info"]["nodes"] = [
        {"node": node, "number": number, "node_rank": number, "state": state, "heard_s": 1.0}
        for number, (node, state) in enumerate(states.items())
    ]
    return answer


@pytest.mark.parametrize(("state", "asked"), [("running", []), ("lost", ["node2"])])
def test_nodes_are_asked_that_the_head_cannot_describe(state: str, asked: list[str]) -> None:
    play = with_choice(headed(knowing(node0="running", node1="running", node2=state)))
    choice = find.ChosenRun.read(play)
    assert choice is not None
    assert (choice.run_id, choice.head, choice.heads, choice.others) == ("run1", "node0", ["node0"], asked)
    options = find.read_others.options(play, "node2")
    assert (options and options["run_id"]) == ("run1" if asked else None)
    assert find.read_others.options(play, "node1") is None
    # The run is known, so no node is asked again.
    assert run_id_of(find.choose.conclusion(play)) == "run1"


def test_all_are_asked_where_no_head_knows_the_run() -> None:
    play = with_choice(headed(host()))
    choice = find.ChosenRun.read(play)
    assert choice is not None
    assert (choice.run_id, choice.others) == (None, ["node1", "node2"])
    options = find.read_others.options(play, "node1")
    assert options == {"workdir": "~/muster", "docker": ["docker"], "node": "node1"}


def test_a_node_is_asked_again_where_the_chosen_run_is_not_its_newest() -> None:
    newest = {"launch__info": {"run": {"run_id": "run2", "phase": "running"}}}
    hosts: dict[str, dict[str, Any]] = {
        "node0": newest,
        "node1": {"launch__info": {"run": {"run_id": "run1"}}},
        "node2": SILENT,
    }
    play = play_of("logs", hosts, {"lines": 3, "grep": None, "rank": None, "follow": False}, run_id="run1")
    asked = {node: find.read_chosen.options(play, node) for node in hosts}
    assert [node for node, options in asked.items() if options] == ["node0"]
    assert asked["node0"] is not None
    assert (asked["node0"]["run_id"], asked["node0"]["lines"]) == ("run1", 3)


def test_the_last_answer_counts_and_a_step_that_did_not_ask_has_none() -> None:
    answers = {"launch__chosen_info": {"skipped": True}, "launch__other_info": {"run": {"run_id": "run1"}}}
    play = play_of("status", {"node0": {**answers, "launch__info": {"run": {"run_id": "run2"}}}})
    assert find.latest(play, "node0") == answers["launch__other_info"]


def test_an_answer_is_plain_data_and_never_a_template() -> None:
    why = trust_as_template("{{ lookup('pipe', 'touch evaluated') }}")
    play = play_of("status", {"node0": {"launch__info": {"run": {"why": why}}}})
    assert find.latest(play, "node0")["run"]["why"].__class__ is str


def test_the_head_says_enough_for_a_shell_and_to_follow() -> None:
    for verb in ("shell", "follow"):
        play = play_of(verb, {"node0": knowing(node0="running", node1="lost"), "node1": {}}, run_id=None)
        assert find.choose_by_head.conclusion(play).result["hosts"] == ["node0"]
