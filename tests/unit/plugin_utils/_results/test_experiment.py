# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what an experiment keeps: the record, and what a later look may change in it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.tests.support.experiments import DONE, PLAN, RUN_ID, record, run


def test_the_record_of_a_run() -> None:
    assert record(DONE) == {
        "schema": 1,
        "run_id": RUN_ID,
        "label": "base",
        "verdict": "succeeded",
        "why": None,
        "cause": None,
        "looked": None,
        "created": "2026-11-20T14:30:52Z",
        "started": "2026-11-20T14:30:53Z",
        "first_step": None,
        "last_step": None,
        "ended": "2026-11-20T14:31:24Z",
        "elapsed_s": 31.0,
        "exit_codes": {"node0": 0, "node1": 0},
        "ended_attempts": [],
        "replaced": {},
        "silent": [],
        "warnings": [],
        "world_size": 4,
        "loss": {"first": 5.55, "last": 1.93},
        "progress": {"step": 4},
        "command": PLAN["command"],
        "cluster": "h100",
        "options": ["-i", "inventories/h100"],
        "parameters": {name: item for name, item in PLAN["parameters"].items() if item["value"] is not None},
        "nodes": ["node0", "node1"],
        "fabric": "tcp",
        "transport": None,
        "transport_verdict": None,
        "code": PLAN["code"],
        "versions": PLAN["versions"],
        "controller": PLAN["controller"],
        "nonce": "a" * 32,
    }


def test_a_record_tells_of_attempts_spares_and_silent_nodes_and_a_later_look_forgets_none() -> None:
    ended = {"attempt": 0, "ended": "2026-11-20T14:30:59Z", "verdict": "lost", "why": "node1: gone", "node": "node1"}
    gang = {"ended_attempts": [{**ended, "rank": None}], "replaced": {"node1": "node2"}}
    warning = {"kind": "disk_full", "node": "node0", "at": "2026-11-20T14:31:00Z", "rank": None, "text": None}
    warnings = [warning]
    head = run("node0", "running", node_rank=0, gang=gang, warnings=warnings)
    silent = {"node": "node2", "phase": "unreachable", "why": "no route"}
    plan = {**PLAN, "spares": ["node2"], "nproc": 2}
    document = record([head, silent], plan)
    assert document["ended_attempts"] == [{**ended, "attempt": 1, "rank": None}]
    assert (document["replaced"], document["warnings"]) == ({"node1": "node2"}, warnings)
    [missing] = document["silent"]
    assert missing == {"node": "node2", "node_rank": 1, "first_rank": 2, "nproc": 2, "why": "no route"}
    later = experiment.merge(document, record([run("node0", "running"), run("node2", "running", node_rank=1)], plan))
    assert (later["ended_attempts"], later["silent"]) == (document["ended_attempts"], [])
    assert (later["replaced"], later["warnings"]) == (document["replaced"], warnings)
    planned = record([run("node0", "running")], {**plan, "replaced": {"node0": "node3"}})
    assert experiment.merge(document, planned)["replaced"] == {"node1": "node2", "node0": "node3"}


def test_only_the_head_of_the_newest_launch_tells_of_the_gang() -> None:
    old = run(
        "node2", "lost", node_rank=0, nonce="b" * 32, created="2026-11-19T00:00:00Z", gang={"replaced": {"a": "b"}}
    )
    member = run("node1", "running", node_rank=1, gang={"replaced": {"c": "d"}})
    head = run("node0", "running", node_rank=0, gang={"replaced": {"node1": "node3"}})
    assert record([old, member, head], PLAN)["replaced"] == {"node1": "node3"}


def test_without_a_plan_the_nodes_know_the_least() -> None:
    document = record(DONE, None, verb="collect", command="ansible-playbook collect.yml", created="later", nonce=None)
    assert (document["created"], document["nonce"], document["world_size"], document["label"]) == (
        "2026-11-20T14:30:52Z",
        "a" * 32,
        4,
        "base",
    )
    assert (document["command"], document["parameters"], document["nodes"]) == (None, {}, ["node0", "node1"])


def test_without_a_plan_a_launchs_request_counts() -> None:
    document = record([], None, **{**PLAN, "verb": "launch"})
    assert (document["command"], document["verdict"], document["loss"]) == (PLAN["command"], None, None)


def test_what_is_dumped_is_read_back() -> None:
    for runs in (DONE, [run("node0", "failed", why="rank 3 killed by SIGSEGV\x1b[2J: ä\n- x: {{ y }}", exit_code=1)]):
        text = experiment.dump(record(runs))
        assert experiment.load(text) == record(runs) == yaml.safe_load(text)
        assert all(line.isprintable() for line in text.splitlines())
    assert "  channels: {value: 42, origin: -e channels, layer: extra_vars}\n" in experiment.dump(record(DONE))


def test_the_same_look_changes_nothing() -> None:
    assert experiment.merge(record(DONE), record(DONE)) == record(DONE)


def test_a_later_look_knows_the_end() -> None:
    going = record([run("node0", "running"), run("node1", "prepared")])
    assert going["why"]
    merged = experiment.merge(going, record(DONE))
    assert merged == record(DONE)


def test_the_end_is_not_forgotten() -> None:
    nothing = [{"node": node, "phase": "not_found", "why": "nothing"} for node in ("node0", "node1")]
    merged = experiment.merge(record(DONE), record(nothing, None))
    assert merged == record(DONE)
    unasked = experiment.record(RUN_ID, None, {}, [], None)
    assert experiment.merge(record(DONE), unasked) == record(DONE)


def test_the_nodes_words_replace_what_a_lost_contact_left() -> None:
    lost = record([run("node0", "succeeded"), run("node1", "lost", why="killed?")])
    assert experiment.merge(lost, record(DONE))["verdict"] == "succeeded"
    assert experiment.merge(lost, record(DONE))["why"] is None


def test_a_second_launch_by_the_same_name_starts_anew() -> None:
    again = {**PLAN, "nonce": "b" * 32, "created": "2026-11-21T00:00:00Z"}
    old = {**record(DONE), "notes": "kept"}
    merged = experiment.merge(old, experiment.record(RUN_ID, again, {}, [], None))
    assert (merged["verdict"], merged["loss"], merged["created"], merged["notes"]) == (
        None,
        None,
        "2026-11-21T00:00:00Z",
        "kept",
    )


def test_the_first_and_the_last_step_are_those_of_any_node() -> None:
    times = (("2026-11-20T14:31:02Z", "2026-11-20T14:31:20Z"), ("2026-11-20T14:30:59Z", "2026-11-20T14:31:19Z"))
    known = record(
        [{**part, "first_step": first, "last_step": last} for part, (first, last) in zip(DONE, times, strict=True)]
    )
    assert (known["first_step"], known["last_step"]) == ("2026-11-20T14:30:59Z", "2026-11-20T14:31:20Z")


def test_earlier_launches_are_kept_as_attempts() -> None:
    def launched(nonce: str, created: str) -> dict[str, Any]:
        return experiment.record(RUN_ID, {**PLAN, "nonce": nonce * 32, "created": created}, {}, [], None)

    second = experiment.merge({**record(DONE), "notes": "kept"}, launched("b", "2026-11-21T00:00:00Z"))
    assert second["attempts"] == [
        {
            "created": "2026-11-20T14:30:52Z",
            "started": "2026-11-20T14:30:53Z",
            "ended": "2026-11-20T14:31:24Z",
            "verdict": "succeeded",
            "why": None,
            "cause": None,
            "elapsed_s": 31.0,
            "loss": {"first": 5.55, "last": 1.93},
            "exit_codes": {"node0": 0, "node1": 0},
            "command": PLAN["command"],
            "nonce": "a" * 32,
        }
    ]
    # A later look at the same launch keeps them; the next one adds to them.
    looked = experiment.merge(second, launched("b", "2026-11-21T00:00:00Z"))
    assert (looked["attempts"], looked["notes"]) == (second["attempts"], "kept")
    third = experiment.merge(looked, launched("c", "2026-11-22T00:00:00Z"))
    assert [attempt["nonce"][0] for attempt in third["attempts"]] == ["a", "b"]
    assert experiment.load(experiment.dump(third)) == third
    assert [*third][-2:] == ["attempts", "notes"]


def test_attempts_that_a_user_spoiled_are_begun_anew() -> None:
    again = experiment.record(RUN_ID, {**PLAN, "nonce": "b" * 32}, {}, [], None)
    assert len(experiment.merge({**record(DONE), "attempts": "mine"}, again)["attempts"]) == 1
    assert "attempts" not in experiment.merge({}, again)


def test_keys_of_the_user_are_kept() -> None:
    assert experiment.merge({**record(DONE), "notes": "the good one"}, record(DONE))["notes"] == "the good one"


INVALID = ["", "- a", "a: [", "a: \x00", "[" * 5000, "!!python/object/apply:os.getcwd []", "a: 2026-99-99"]


@pytest.mark.parametrize("text", INVALID)
def test_load_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"^\S"):
        experiment.load(text)


def test_of_a_run_that_goes_on_it_is_kept_when_it_was_looked_at() -> None:
    going = [run("node0", "running"), run("node1", "running")]
    first = record(going, created="2026-11-20T14:31:00Z")
    assert first["looked"] == "2026-11-20T14:31:00Z"
    later = record(going, created="2026-11-20T14:32:00Z")
    assert experiment.merge(first, later)["looked"] == "2026-11-20T14:32:00Z"
    assert experiment.merge(first, record(DONE, created="2026-11-20T14:33:00Z"))["looked"] is None
    unasked = experiment.record(RUN_ID, None, {"created": "2026-11-20T14:33:00Z"}, [], None)
    assert experiment.merge(first, unasked)["looked"] == "2026-11-20T14:31:00Z"
    # A node that has forgotten the run is no later look at it.
    assert experiment.merge(record(DONE), first)["looked"] is None


def test_the_cause_is_kept_as_data() -> None:
    traceback = ["Traceback", "ValueError: bad loss"]
    first = {
        "rank": 3,
        "exit_code": 1,
        "message": "ValueError: bad loss",
        "traceback": traceback,
    }
    kept = record([run("node0", "stopped"), run("node1", "failed", first=first)])
    assert kept["verdict"] == "failed" and kept["why"]
    assert kept["cause"] == {
        "node": "node1",
        "rank": 3,
        "exit_code": 1,
        "signal": None,
        "exception": "ValueError",
        "message": "bad loss",
        "traceback": traceback,
        "oom_killed": False,
    }
    assert yaml.safe_load(experiment.dump(kept))["cause"] == kept["cause"]
    assert experiment.merge(kept, record([run("node0", "running"), run("node1", "running")]))["cause"] == kept["cause"]
    assert experiment.merge(kept, record(DONE))["cause"] is None


def test_a_small_loss_is_not_zero() -> None:
    small = run("node0", "succeeded", progress={"step": 4, "first_loss": 1.23456789, "loss": 1e-09})
    assert record([small])["loss"] == {"first": 1.23457, "last": 1e-09}
