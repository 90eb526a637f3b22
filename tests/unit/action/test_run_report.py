# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_report`: what is printed, and when the task fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.action import run_report as show
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.tests.support.actions import result_of
from ansible_collections.muster.train.tests.support.reports import RUN_ID, TRAP, failing, info

Show = Callable[..., tuple[list[str], dict[str, Any]]]


def going(phase: str = "running") -> dict[str, Any]:
    return {node: info(node, phase) for node in ("node0", "node1")}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Show:
    """Run the action in an empty directory; returns the printed lines and the result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(show, "WIDTH", 100)

    def run(what: str, hosts: dict[str, Any], **args: Any) -> tuple[list[str], dict[str, Any]]:
        printed: list[str] = []
        monkeypatch.setattr(screen, "display", MagicMock(display=lambda text, **_options: printed.append(text)))
        request = {"run_id": RUN_ID, "nodes": list(hosts), "experiments": str(tmp_path / "experiments")}
        request.update(call="ansible-playbook -i lab", **args.pop("request", {}))
        task = MagicMock(args={"what": what, "request": request, **args}, async_val=0, check_mode=False)
        action = show.ActionModule(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        result = result_of(action, {"groups": {}, "hostvars": hosts})
        assert all(line.isprintable() for line in printed)
        return printed, result

    return run


def test_it_runs_once_and_contacts_no_node() -> None:
    assert show.ActionModule.BYPASS_HOST_LOOP is True
    assert show.ActionModule._requires_connection is False


def test_status_of_a_run_that_goes_on(run: Show) -> None:
    printed, result = run("status", going())
    assert printed[1].split() == ["node", "node", "rank", "phase", "ranks", "elapsed"]
    assert printed[5] == f"{RUN_ID}  running · 4 ranks on 2 nodes · 31 s"
    assert f"  stop:         ansible-playbook -i lab muster.train.stop -e run_id={RUN_ID}" in printed
    assert result["run_id"] == RUN_ID
    assert (result["changed"], result["verdict"]["verdict"]) == (False, "running")
    json.dumps(result)


def test_result_of_a_run_that_succeeded(run: Show) -> None:
    printed, result = run("result", going("succeeded"), succeed_on=["succeeded"])
    assert f"{RUN_ID}  succeeded, no metrics reported · 4 ranks on 2 nodes · 31 s" in printed
    assert f"  experiment: experiments/{RUN_ID}" in printed
    assert "  on node1:   /w1" in printed
    assert "failed" not in result


def test_a_failed_run_fails_the_task_by_name(run: Show) -> None:
    printed, result = run("result", failing(), succeed_on=["succeeded"])
    assert result["failed"] is True
    assert result["msg"] == f"{RUN_ID} failed: node1: rank 3 killed by SIGSEGV"
    assert result.keys() == {"changed", "failed", "msg", "reported"}
    assert "  node1: rank 3 killed by SIGSEGV" in printed
    assert "    | Fatal Python error: Segmentation fault" in printed
    assert f"    | {TRAP}" in printed


def test_without_succeed_on_a_failed_run_is_only_shown(run: Show) -> None:
    result = run("status", failing())[1]
    assert "failed" not in result
    assert (result["verdict"]["node"], result["verdict"]["rank"]) == ("node1", 3)


def test_a_verdict_that_was_not_wished_for(run: Show) -> None:
    result = run("result", going(), succeed_on=["succeeded"])[1]
    assert result["msg"] == f"{RUN_ID} running"


def test_nodes_that_do_not_answer_are_rows(run: Show) -> None:
    hosts = {
        "node0": info("node0", "running"),
        "node1": {"launch__info": {"unreachable": True, "msg": "no\x1b[2J route"}},
    }
    printed, result = run("status", {**hosts, "node2": {}})
    assert [line.split()[:1] for line in printed[2:5]] == [["node0"], ["node1"], ["node2"]]
    assert printed[3].endswith("no route")
    assert result["verdict"]["verdict"] == "running"


def test_nothing_is_known(run: Show) -> None:
    printed, result = run("status", {"node0": {}}, request={"run_id": None})
    assert (result["run_id"], result["verdict"]["verdict"]) == (None, "unknown")
    assert not any("ansible-playbook" in line for line in printed)


def test_only_the_runs_own_nodes_are_rows(run: Show) -> None:
    hosts = {
        "node0": info("node0", "running", nproc=4),
        "node1": info("node1", "not_found", nproc=None, world_size=None),
    }
    printed, _result = run("status", hosts)
    assert [line.split()[0] for line in printed[1:4] if line] == ["node", "node0"]
    # A node that has no part in the run need not answer.
    silent = {"launch__info": {"unreachable": True, "msg": "no route"}}
    assert "failed" not in run("stopped", {**hosts, "node1": silent}, all_answer=True)[1]
    apart = {"node0": info("node0", "running", nnodes=2), "node1": silent}
    assert run("stopped", apart, all_answer=True)[1]["msg"].startswith(
        "node1: the run was not reached; fix that and repeat the command"
    )


def test_before_a_stop_it_says_what_comes(run: Show) -> None:
    hosts = going()
    for node, host in hosts.items():
        host["launch__info"]["runs"] = [
            {"run_id": RUN_ID, "alive": True},
            {"run_id": "other", "alive": node == "node0"},
        ]
    line = f"asking the runners of {RUN_ID} on node0 and node1 to stop: SIGTERM, and SIGKILL after up to 60 s"
    assert run("stopping", hosts, grace=60)[0] == [line]
    hosts["node1"]["launch__info"]["runs"][0]["alive"] = False
    assert run("stopping", hosts, grace=60)[0] == [line.replace("node0 and node1", "node0")]
    hosts["node0"]["launch__info"]["runs"] = []
    assert run("stopping", hosts, grace=60)[0] == []


def test_a_restarted_run_says_so_and_leftovers_have_their_command(run: Show) -> None:
    hosts = going("failed")
    hosts["node1"] = info("node1", "lost", attempt=2, left=1)
    printed = run("status", hosts)[0]
    assert any(" · attempt 3 · " in line for line in printed)
    assert "1 process is left over; run stop to end it" in " ".join(" ".join(printed).split())
    assert any("muster.train.stop" in line for line in printed)


def test_after_a_stop_it_says_where_there_was_nothing_to_stop(run: Show) -> None:
    hosts = going("stopped")
    for host in hosts.values():
        host["launch__info"]["changed"] = True
    assert not [line for line in run("stopped", hosts)[0] if "had already ended" in line]
    hosts["node1"] = info("node1", "stopped")  # through the gang, by the request to the other
    assert not [line for line in run("stopped", hosts)[0] if "had already ended" in line]
    hosts["node1"] = info("node1", "succeeded")
    assert "  node1 had already ended" in run("stopped", hosts)[0]
    printed, _result = run("stopped", going("succeeded"))
    assert f"{RUN_ID} had already ended: nothing to stop" in printed


def test_logs(run: Show) -> None:
    hosts = going()
    for number, node in enumerate(hosts):
        line = {"time": f"2026-11-20T14:30:5{number}.000Z", "node": node, "rank": 2 * number, "text": f"hello {TRAP}"}
        hosts[node]["launch__info"]["log"] = [line]
    parameters = {"lines": {"value": 50}, "node": {"value": None}, "rank": {"value": None}}
    assert run("logs", hosts, request={"parameters": parameters})[0] == [
        f"2026-11-20 14:30:50.000 node0/rank0 | hello {TRAP}",
        f"2026-11-20 14:30:51.000 node1/rank2 | hello {TRAP}",
    ]
    one = {**parameters, "lines": {"value": 1}}
    assert len(run("logs", hosts, request={"parameters": one})[0]) == 1
    of_node = {**parameters, "node": {"value": "node0"}}
    assert "node0/rank0" in run("logs", hosts, request={"parameters": of_node})[0][0]


def test_logs_of_nobody(run: Show) -> None:
    printed, _result = run(
        "logs", {"node0": info("node0", "running"), "node1": {"launch__info": {"failed": True, "msg": "x"}}}
    )
    assert printed == ["no log lines", "node1: x"]


def test_logs_of_a_rank_that_the_run_has_not(run: Show) -> None:
    def parameters(rank: int) -> dict[str, Any]:
        return {"parameters": {"rank": {"value": rank, "origin": "-e rank", "layer": "extra_vars"}}}

    printed, result = run("logs", going(), request=parameters(99))
    assert (printed, result["failed"]) == ([], True)
    assert result["msg"] == "rank: expected 0 to 3, the ranks of this run, saw 99 (-e rank)"
    printed, result = run("logs", going(), request=parameters(3))
    assert (printed, "failed" in result) == (["no log lines of rank 3"], False)
    # Where no node tells how many there are, any may be meant.
    assert "failed" not in run("logs", {"node0": info("node0", "prepared", world_size=None)}, request=parameters(99))[1]


def test_hints(run: Show) -> None:
    printed, result = run("hints", going())
    assert printed[1] == f"run {RUN_ID}"
    assert [line.split(":")[0].strip() for line in printed[2:]] == [
        "follow again",
        "stop",
        "status",
        "logs",
        "experiment",
    ]
    assert "verdict" not in result


def test_hints_of_a_start_that_could_not_be_read(run: Show) -> None:
    printed, result = run("hints", going("waiting"), why="it is not known whether the run has started: a\x07b")
    assert printed[:3] == ["", "it is not known whether the run has started: a\ufffdb", ""]
    assert printed[3] == f"run {RUN_ID}"
    assert "failed" not in result


def test_who_failed_to_start(run: Show) -> None:
    refused = {"failed": True, "msg": "?", "why": "slot 'default' is held by run x", "log_tail": ["a\x07b"]}
    printed, result = run("start", {"node0": info("node0", "running"), "node1": {"launch__info": refused}})
    assert result["msg"] == f"{RUN_ID} did not start: node1: slot 'default' is held by run x"
    assert printed[0] == f"{RUN_ID} did not start:"
    assert printed[1:] == ["  node1: slot 'default' is held by run x", "  last lines of node1/-:", "    | a\ufffdb"]


def test_a_node_that_does_not_answer_keeps_its_ranks_in_the_table_and_in_the_count(run: Show, tmp_path: Path) -> None:
    home = tmp_path / "experiments" / RUN_ID
    home.mkdir(parents=True)
    plan = {"nodes": ["node0", "node1"], "spares": ["node2"], "nproc": 2, "replaced": {}}
    (home / "plan.json").write_text(json.dumps(plan))
    silent = {"launch__info": {"unreachable": True, "msg": "no route"}}
    printed, _result = run("status", {"node0": info("node0", "running", nnodes=2), "node1": silent})
    assert printed[3].split()[:4] == ["node1", "1", "unreachable", "2-3"]
    assert printed[5].startswith(f"{RUN_ID}  running · 4 ranks on 2 nodes")


def test_attempts_and_spares_are_told(run: Show) -> None:
    ended = {"attempt": 0, "ended": "2026-11-20T14:03:22Z", "verdict": "lost", "why": "node1: its runner is gone"}
    gang = {"ended_attempts": [ended], "replaced": {"node1": "node2"}}
    spare = {"node_rank": 1, "first_rank": 2}
    hosts = {
        "node0": info("node0", "running", nnodes=2, attempt=1, started="2026-11-20T14:00:00Z", gang=gang),
        "node1": info("node1", "lost", nnodes=2, started="2026-11-20T14:00:00Z"),
        "node2": info("node2", "running", nnodes=2, attempt=1, started="2026-11-20T14:03:30Z", **spare),
    }
    printed, result = run("status", hosts)
    row = next(line for line in printed if line.startswith("node2"))
    assert row.split()[:4] == ["node2", "1", "(for", "node1)"]
    assert f"{RUN_ID}  running · 4 ranks on 2 nodes · attempt 2 · node2 for node1 · 31 s" in printed
    assert "  attempt 1 ended at 14:03:22 UTC: node1: its runner is gone" in printed
    assert result["verdict"]["verdict"] == "running"
