# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what is said of nodes that did not answer: what was observed, what was expected, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._results import unanswered
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos, with_call

REFUSED = (
    'Task failed: Data could not be sent to remote host "10.0.0.9". Make sure this host can be reached over ssh: '
    "ssh: connect to host 10.0.0.9 port 22: Connection refused\r\n"
)
ANSWER = {"run": {"node": "node0", "phase": "running"}}
DENIED = "Failed to connect to the host via ssh: me@10.0.0.9: Permission denied (key)"
NO_SHELL = "This account is currently not available.\r\n"
# Why no module ran on node9.
REASONS: list[dict[str, Any]] = [
    {"unreachable": True, "msg": REFUSED},
    {"unreachable": True, "msg": DENIED},
    {"failed": True, "msg": "Task failed: Missing sudo password"},
    {"failed": True, "msg": "Module failed", "module_stdout": NO_SHELL},
    {"failed": True, "msg": "Timed out after 12 second(s).", "timedout": {"frame": "", "period": 12}},
]
SAME = read_infos([(f"n{number}", {"failed": True, "msg": "boom"}) for number in range(1, 3)] + [("n0", ANSWER)])
MANY = read_infos([(f"n{number}", {"failed": True, "msg": f"boom {number}"}) for number in range(1, 9)])


@pytest.mark.parametrize("reason", REASONS)
def test_a_node_on_which_no_module_runs_has_its_remedy(reason: dict[str, Any]) -> None:
    infos = read_infos([("node0", ANSWER), ("node9", reason)])
    [error] = unanswered.errors(infos)
    assert unanswered.lines(infos) == [error["message"]]
    assert (error["node"], error["check"]) == ("node9", "answer")
    assert error["expected"] and error["remedy"] and infos[1].run.why


def test_what_a_module_says_of_itself_is_not_judged() -> None:
    text = "the run's directory: no space left on device; connection refused"
    infos = read_infos([("node9", {"failed": True, "msg": text})])
    assert unanswered.lines(infos) == [f"node9: {text}"]
    assert unanswered.errors(infos)[0]["message"] == f"node9: unknown: {text}"


def test_what_is_the_same_on_several_nodes_is_one_line() -> None:
    assert unanswered.lines(SAME) == ["n1 and n2: boom"]
    assert len(unanswered.lines(MANY)) == unanswered.MOST + 1


def holder(node: str, since: str, **more: str) -> dict[str, Any]:
    held = {"run_id": "multinode_1", "nonce": "0a1b2c3d4e", "node": node, "user": "alice", "since": since}
    return {"failed": True, "msg": f"{node}: held", "why": "held", "holder": held, "slot": None, **more}


HELD = [
    (node, holder(node, since, slot="default"))
    for node, since in (("node0", "2026-11-20T14:30:53Z"), ("node1", "2026-11-20T14:30:52Z"))
]
KEPT_OUT = with_call(read_infos(HELD), Invocation("ansible-playbook -i hosts.yml"))
ITS_OWN = read_infos([("node0", holder("node0", "2026-11-20T14:30:53Z"))])


def test_a_launch_that_is_kept_out_names_the_other_once_and_what_to_do() -> None:
    errors = unanswered.errors(KEPT_OUT)
    assert [(error["node"], error["check"]) for error in errors] == [("node0", "slot"), ("node1", "slot")]
    assert len(unanswered.lines(KEPT_OUT)) == 1
    assert "ansible-playbook -i hosts.yml muster.train.stop" in str(errors[0]["remedy"])


def test_another_launch_of_the_same_run_is_told_apart() -> None:
    [error] = unanswered.errors(ITS_OWN)
    assert (error["check"], "0a1b2c3d" in str(error["observed"])) == ("run", True)
