# SPDX-License-Identifier: GPL-3.0-or-later
"""What `status`, `stop`, `logs`, `launch` and the end of a run show of it, and when they fail."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import ReportedError, UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import collect, launch, logs, status, stop
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, Conclusion, Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID, TRAP, failing, info
from ansible_collections.muster.train.tests.support.verbs import Hosts, play_of, texts

SILENT = {"unreachable": True, "msg": "no\x1b[2J route"}
PLAN = {"run_id": RUN_ID, "head": {"node": "node0"}, "nodes": ["node0", "node1"]}
LOGS = {"lines": 50, "node": None, "rank": None, "grep": None, "follow": False}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def going(phase: str = "running") -> dict[str, dict[str, Any]]:
    return {node: info(node, phase) for node in ("node0", "node1")}


def reported(
    step: Conclude, verb: str, hosts: Hosts, parameters: dict[str, Any] | None = None, **more: Any
) -> Conclusion:
    return step.conclusion(play_of(verb, hosts, parameters, experiments="experiments", **more))


def ended(hosts: Hosts, succeed_on: list[str] | None = None) -> Conclusion:
    """The report of a run whose files were collected."""
    collected = {node: {"launch__collected": answers["launch__info"]} for node, answers in hosts.items()}
    play = play_of("collect", collected, experiments="experiments")
    return collect.report.conclusion(
        dataclasses.replace(play, read_policy=lambda _names: {"launch__succeed_on": succeed_on})
    )


def verdict_of(conclusion: Conclusion) -> dict[str, Any]:
    assert conclusion.document is not None
    json.dumps(conclusion.document)
    return dict(conclusion.document["verdict"])


def rows(conclusion: Conclusion) -> list[list[str]]:
    """The rows of the table of nodes."""
    lines = texts(conclusion)
    return [line.split() for line in lines[2 : lines.index("", 1)]]


def test_status_of_a_run_that_goes_on() -> None:
    conclusion = reported(status.report, "status", going())
    assert [row[:3] for row in rows(conclusion)] == [["node0", "0", "running"], ["node1", "1", "running"]]
    assert any(f"ansible-playbook -i lab muster.train.stop -e run_id={RUN_ID}" in line for line in texts(conclusion))
    assert (verdict_of(conclusion)["verdict"], conclusion.failure) == ("running", None)


def test_the_end_of_a_run_that_succeeded() -> None:
    conclusion = ended(going("succeeded"), ["succeeded"])
    assert verdict_of(conclusion)["verdict"] == "succeeded"
    assert {f"  experiment: experiments/{RUN_ID}", "  on node1:   /w1"} < {*texts(conclusion)}
    assert conclusion.failure is None


def test_a_run_that_failed_fails_the_verb_by_its_cause() -> None:
    conclusion = ended(failing(), ["succeeded"])
    assert isinstance(conclusion.failure, ReportedError)
    assert conclusion.is_shown
    assert conclusion.document is not None
    assert (conclusion.document["errors"][0]["node"], conclusion.document["errors"][0]["check"]) == ("node1", "verdict")
    assert {"    | Fatal Python error: Segmentation fault", f"    | {TRAP}"} < {*texts(conclusion)}


def test_a_run_that_failed_is_only_shown_where_nothing_waits_for_it() -> None:
    for conclusion in (ended(failing()), reported(status.report, "status", failing())):
        assert conclusion.failure is None
        assert (verdict_of(conclusion)["node"], verdict_of(conclusion)["rank"]) == ("node1", 3)


def test_a_verdict_that_is_not_the_awaited_one() -> None:
    assert ended(going(), ["succeeded"]).failure is not None


def test_nodes_that_do_not_answer_are_rows() -> None:
    hosts = {"node0": info("node0", "running"), "node1": {"launch__info": SILENT}, "node2": {}}
    conclusion = reported(status.report, "status", hosts)
    assert [row[0] for row in rows(conclusion)] == ["node0", "node1", "node2"]
    assert verdict_of(conclusion)["verdict"] == "running"


def test_nothing_is_known() -> None:
    conclusion = reported(stop.report, "stop", {"node0": {}}, run_id=RUN_ID)
    assert verdict_of(conclusion)["verdict"] == "unknown"


def test_only_the_runs_own_nodes_are_rows() -> None:
    hosts = {
        "node0": info("node0", "running", nproc=4),
        "node1": info("node1", "not_found", nproc=None, world_size=None),
    }
    assert [row[0] for row in rows(reported(status.report, "status", hosts))] == ["node0"]
    # A node that has no part in the run need not answer.
    assert reported(stop.report, "stop", {**hosts, "node1": {"launch__info": SILENT}}).failure is None
    apart = {"node0": info("node0", "running", nnodes=2), "node1": {"launch__info": SILENT}}
    failure = reported(stop.report, "stop", apart).failure
    assert isinstance(failure, ReportedError)
    assert str(failure).startswith("node1: ")


def test_before_a_stop_it_says_whom_it_asks() -> None:
    hosts = going()
    for node, host in hosts.items():
        host["launch__info"]["runs"] = [
            {"run_id": RUN_ID, "alive": True},
            {"run_id": "other", "alive": node == "node0"},
        ]

    def line() -> list[str]:
        return texts(reported(stop.announce, "stop", hosts))

    assert len(line()) == 1
    assert all(word in line()[0] for word in (RUN_ID, "node0 and node1", "60 s"))
    hosts["node1"]["launch__info"]["runs"][0]["alive"] = False
    assert "node1" not in line()[0]
    hosts["node0"]["launch__info"]["runs"] = []
    assert line() == []


RESTARTED = {"node0": info("node0", "failed"), "node1": info("node1", "lost", attempt=2, left=1)}


def test_leftovers_of_a_restarted_run_have_their_command() -> None:
    assert any("muster.train.stop" in line for line in texts(reported(status.report, "status", RESTARTED)))


def test_after_a_stop_it_says_where_there_was_nothing_to_stop() -> None:
    def lines_about(hosts: Hosts) -> list[str]:
        lines = texts(reported(stop.report, "stop", hosts))
        return [line for line in lines if line.startswith((f"{RUN_ID} ", "  node1 ")) and " · " not in line]

    hosts = going("stopped")
    for host in hosts.values():
        host["launch__info"]["changed"] = True
    assert lines_about(hosts) == []
    hosts["node1"] = info("node1", "stopped")  # through the gang, by the request to the other
    assert lines_about(hosts) == []
    hosts["node1"] = info("node1", "succeeded")
    assert [line.split()[0] for line in lines_about(hosts)] == ["node1"]
    assert [line.split()[0] for line in lines_about(going("succeeded"))] == [RUN_ID]


def test_logs() -> None:
    hosts = going()
    for number, node in enumerate(hosts):
        line = {"time": f"2026-11-20T14:30:5{number}.000Z", "node": node, "rank": 2 * number, "text": f"hello {TRAP}"}
        hosts[node]["launch__info"]["log"] = [line]

    def lines(**asked: Any) -> list[str]:
        return texts(reported(logs.report, "logs", hosts, {**LOGS, **asked}))

    assert lines() == [
        f"2026-11-20 14:30:50.000 node0/rank0 | hello {TRAP}",
        f"2026-11-20 14:30:51.000 node1/rank2 | hello {TRAP}",
    ]
    assert lines(lines=1) == lines()[1:]
    assert lines(node="node0") == lines()[:1]


NOBODY = {"node0": info("node0", "running"), "node1": {"launch__info": {"failed": True, "msg": "x"}}}


def test_logs_of_nobody() -> None:
    assert texts(reported(logs.report, "logs", NOBODY, LOGS))[1:] == ["node1: x"]


def test_logs_of_a_rank_that_the_run_does_not_have() -> None:
    def of_rank(hosts: Hosts, rank: int) -> Conclusion:
        asked = {**LOGS, "rank": {"value": rank, "origin": "-e rank", "layer": "extra_vars"}}
        return reported(logs.report, "logs", hosts, asked)

    with pytest.raises(UserError, match="99"):
        of_rank(going(), 99)
    assert len(texts(of_rank(going(), 3))) == 1
    # Where no node tells how many there are, any may be meant.
    assert of_rank({"node0": info("node0", "prepared", world_size=None)}, 99).failure is None


def test_logs_that_are_followed() -> None:
    def followed(hosts: Hosts, forks: int = 5, **asked: Any) -> Conclusion:
        play = play_of("logs", hosts, {**LOGS, "follow": True, **asked}, experiments="experiments")
        return logs.report.conclusion(dataclasses.replace(play, forks=forks))

    assert followed(going()).result == {"followed": {"node0": "/w0", "node1": "/w1"}}
    assert followed(going(), node="node1").result == {"followed": {"node1": "/w1"}}
    assert followed(going(), rank=1).result == {"followed": {"node0": "/w0"}}
    assert followed(going(), forks=1).failure is not None
    assert followed({"node0": {"launch__info": SILENT}}).failure is not None


def launched(hosts: Hosts, **joined: Any) -> Play:
    known = {"launch__plan": {"plan": PLAN}, "launch__joined": joined}
    return play_of("launch", {node: {**answers, **known} for node, answers in hosts.items()}, experiments="experiments")


def test_the_next_commands_of_a_launch() -> None:
    lines = texts(launch.announce.conclusion(launched(going())))
    assert lines[1].split()[-1] == RUN_ID
    commands = [line.partition("muster.train.")[2].split(" ")[0] for line in lines[2:]]
    assert commands == ["follow", "stop", "status", "logs", ""]


def test_the_next_commands_where_it_is_not_known_whether_the_run_has_started() -> None:
    conclusion = launch.announce.conclusion(launched(going("waiting"), why="not known: a\x07b"))
    assert texts(conclusion)[:3] == ["", "not known: a\ufffdb", ""]
    assert conclusion.failure is None


def not_started() -> Conclusion:
    refused = {"failed": True, "msg": "?", "why": "slot 'default' is held by run x", "log_tail": ["a\x07b"]}
    play = launched({"node0": info("node0", "running"), "node1": {"launch__info": refused}})
    return launch.refuse.conclusion(play)


def test_who_failed_to_start() -> None:
    conclusion = not_started()
    assert isinstance(conclusion.failure, ReportedError)
    assert conclusion.document is not None
    assert "node1" in conclusion.document["errors"][0]["message"]
    assert texts(conclusion)[-1] == "    | a\ufffdb"


def test_a_node_that_does_not_answer_keeps_its_ranks_in_the_table_and_in_the_count(home: Path) -> None:
    folder = home / "experiments" / RUN_ID
    folder.mkdir(parents=True)
    plan = {"nodes": ["node0", "node1"], "spares": ["node2"], "nproc": 2, "replaced": {}}
    (folder / "plan.json").write_text(json.dumps(plan))
    hosts = {"node0": info("node0", "running", nnodes=2), "node1": {"launch__info": SILENT}}
    conclusion = reported(status.report, "status", hosts)
    assert rows(conclusion)[1][:4] == ["node1", "1", "unreachable", "2-3"]
    assert conclusion.document is not None and conclusion.document["world_size"] == 4


def with_spare() -> Conclusion:
    """The status of a run in its second attempt, in which a spare has the ranks of a node."""
    before = {"attempt": 0, "ended": "2026-11-20T14:03:22Z", "verdict": "lost", "why": "node1: its runner is gone"}
    gang = {"ended_attempts": [before], "replaced": {"node1": "node2"}}
    spare = {"node_rank": 1, "first_rank": 2}
    hosts = {
        "node0": info("node0", "running", nnodes=2, attempt=1, started="2026-11-20T14:00:00Z", gang=gang),
        "node1": info("node1", "lost", nnodes=2, started="2026-11-20T14:00:00Z"),
        "node2": info("node2", "running", nnodes=2, attempt=1, started="2026-11-20T14:03:30Z", **spare),
    }
    return reported(status.report, "status", hosts)


def test_attempts_and_spares_are_shown() -> None:
    conclusion = with_spare()
    assert next(row for row in rows(conclusion) if row[0] == "node2")[3] == "node1)"
    assert any("14:03:22" in line for line in texts(conclusion))
    assert verdict_of(conclusion)["verdict"] == "running"
