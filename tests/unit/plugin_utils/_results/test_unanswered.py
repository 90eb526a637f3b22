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


def test_a_node_that_is_not_reached_has_its_remedy() -> None:
    infos = read_infos([("node0", ANSWER), ("node9", {"unreachable": True, "msg": REFUSED})])
    assert infos[1].run.why == "nothing listens on port 22 of 10.0.0.9"
    line = (
        "node9: answer: ssh: connect to host 10.0.0.9 port 22: Connection refused; expected an SSH server (Ansible); "
        "start sshd there, or set its port (ansible_port; for discover, 10.0.0.9:PORT)"
    )
    assert unanswered.lines(infos) == [line]
    (error,) = unanswered.errors(infos)
    assert error["message"] == line
    assert (error["node"], error["expected"]) == ("node9", "an SSH server")
    assert str(error["remedy"]).startswith("start sshd there")


@pytest.mark.parametrize(
    ("result", "why", "line"),
    [
        (
            {
                "unreachable": True,
                "msg": "Failed to connect to the host via ssh: me@10.0.0.9: Permission denied (key)",
            },
            "me may not log in to 10.0.0.9",
            "node9: answer: me@10.0.0.9: Permission denied (key); expected a login by key (Ansible); install your "
            "public key there (ssh-copy-id me@10.0.0.9), or set another user (ansible_user; for discover, "
            "-e user=NAME)",
        ),
        (
            {"failed": True, "msg": "Task failed: Missing sudo password"},
            "this user cannot become root on node9 without a password",
            "node9: answer: Missing sudo password; expected sudo without a password (Ansible); give this user "
            "passwordless sudo there, or add --ask-become-pass",
        ),
        (
            {"failed": True, "msg": "Module failed", "module_stdout": "This account is currently not available.\r\n"},
            "this user has no shell on node9",
            "node9: answer: this user has no shell on node9; expected a user that can run commands (Ansible); set "
            "another user (ansible_user; for discover, -e user=NAME)",
        ),
        (
            {"failed": True, "msg": "Timed out after 12 second(s).", "timedout": {"frame": "", "period": 12}},
            "no answer within 12 s",
            "node9: answer: no answer within 12 s; expected an answer within seconds (Ansible); check that it is "
            "powered on, and that no firewall drops packets from this machine",
        ),
    ],
)
def test_why_no_module_runs(result: dict[str, Any], why: str, line: str) -> None:
    infos = read_infos([("node9", result)])
    assert infos[0].run.why == why
    assert unanswered.lines(infos) == [line]


def test_what_a_module_says_of_itself_is_not_judged() -> None:
    text = "the run's directory: no space left on device; connection refused"
    infos = read_infos([("node9", {"failed": True, "msg": text})])
    assert unanswered.lines(infos) == [f"node9: {text}"]
    assert unanswered.errors(infos)[0]["message"] == f"node9: unknown: {text}"


def test_what_is_the_same_on_several_nodes_is_one_line() -> None:
    infos = read_infos([(f"n{number}", {"failed": True, "msg": "boom"}) for number in range(1, 3)] + [("n0", ANSWER)])
    assert unanswered.lines(infos) == ["n1 and n2: boom"]
    many = read_infos([(f"n{number}", {"failed": True, "msg": f"boom {number}"}) for number in range(1, 9)])
    assert unanswered.lines(many)[-2:] == ["n5: boom 5", "n6, n7 and n8: other reasons"]


def holder(node: str, since: str, **more: str) -> dict[str, Any]:
    held = {"run_id": "multinode_1", "nonce": "0a1b2c3d4e", "node": node, "user": "alice", "since": since}
    return {"failed": True, "msg": f"{node}: held", "why": "held", "holder": held, "slot": None, **more}


def test_a_launch_that_is_kept_out_names_the_other_once_and_what_to_do() -> None:
    results = [
        ("node0", holder("node0", "2026-11-20T14:30:53Z", slot="default")),
        ("node1", holder("node1", "2026-11-20T14:30:52Z", slot="default")),
    ]
    infos = with_call(read_infos(results), Invocation("ansible-playbook -i hosts.yml"))
    line = (
        "node0 and node1: slot: slot default is held by run multinode_1 of alice since 2026-11-20T14:30:52Z; "
        "expected a free slot (launch_slot); launch with -e wait=2h, which queues for it, or stop it: "
        "ansible-playbook -i hosts.yml muster.train.stop -e run_id=multinode_1"
    )
    assert unanswered.lines(infos) == [line]
    assert [error["node"] for error in unanswered.errors(infos)] == ["node0", "node1"]
    assert "ansible-playbook -i hosts.yml muster.train.stop" in str(unanswered.errors(infos)[0]["remedy"])


def test_another_launch_of_the_same_run_is_named_by_its_nonce() -> None:
    infos = read_infos([("node0", holder("node0", "2026-11-20T14:30:53Z"))])
    assert unanswered.lines(infos)[0].startswith(
        "node0: run: run multinode_1 is held by its launch 0a1b2c3d of alice since 2026-11-20T14:30:53Z; expected no"
    )
