# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which run a verb is about, and of what is said when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.pick import NoRun, pick


def info(node: str, *runs: tuple[str, str], alive: str | None = None) -> Info:
    listed = [
        {"run_id": name, "created": created, "phase": "running", "alive": name == alive} for name, created in runs
    ]
    result: dict[str, Any] = {"run": {"node": node, "phase": "not_found"}, "runs": listed}
    return read_infos([(node, result)])[0]


SILENT = read_infos([("node9", {"unreachable": True, "msg": "no route\x1b[2J to host"})])[0]
OLD, NEW = ("run_a", "2026-11-20T10:00:00Z"), ("run_b", "2026-11-20T11:00:00Z")


def refused(infos: list[Info], asked: str | None = None, workdirs: dict[str, str] | None = None) -> str:
    with pytest.raises(NoRun) as caught:
        pick(infos, asked, "ansible-playbook -i lab", workdirs or {})
    assert str(caught.value).replace("\n", "").isprintable()
    return str(caught.value)


def test_the_newest_of_all_nodes() -> None:
    assert pick([info("node0", OLD), info("node1", NEW, OLD)], None, None, {}) == "run_b"
    assert pick([info("node0"), SILENT, info("node1", OLD)], None, None, {}) == "run_a"
    assert pick([info("node0", ("../../x", NEW[1])), info("node1", OLD)], None, None, {}) == "run_a"


def test_of_two_of_the_same_second_the_later_name() -> None:
    same = "2026-11-20T10:00:00Z"
    assert pick([info("node0", ("run_b", same), ("run_c", same), ("run_a", same))], None, None, {}) == "run_c"


def test_a_run_is_as_new_as_its_newest_part() -> None:
    parts = [info("node0", ("run_a", "2026-11-20T10:00:00Z"), NEW), info("node1", ("run_a", "2026-11-20T12:00:00Z"))]
    assert pick(parts, None, None, {}) == "run_a"


def test_to_stop_the_newest_that_lives() -> None:
    """The loser of a race is newer than the winner, and on the nodes that it reached first it left a dead run."""
    race = [info("node0", OLD, alive="run_a"), info("node1", NEW, OLD, alive="run_a")]
    assert pick(race, None, None, {}, "stop") == "run_a"
    assert pick(race, None, None, {}, "status") == "run_b"
    assert pick(race, "run_b", None, {}, "stop") == "run_b"
    two = [info("node0", OLD, NEW, ("run_c", "2026-11-20T09:00:00Z"), alive="run_c"), info("node1", NEW, alive="run_b")]
    assert pick(two, None, None, {}, "stop") == "run_b"
    assert pick([info("node0", OLD, NEW)], None, None, {}, "stop") == "run_b"


def test_nothing_to_stop() -> None:
    with pytest.raises(NoRun) as caught:
        pick([info("node0", OLD)], "run_x", None, {}, "stop")
    assert str(caught.value) == ("nothing to stop: no node knows run_x (searched node0); the newest are: run_a")
    with pytest.raises(NoRun, match=r"^nothing to stop: no node knows a run "):
        pick([info("node0")], None, None, {}, "stop")


def test_runs_of_another_user_are_said_to_be_hidden_and_not_absent() -> None:
    hidden = {"path": "/srv/muster/.muster", "owner": "ana", "user": "ben"}
    answer = {"run": {"phase": "unknown", "why": "hidden"}, "runs": [], "hidden": hidden}
    infos = read_infos([("node0", answer), ("node1", answer)])
    with pytest.raises(NoRun) as caught:
        pick(infos, None, "ansible-playbook -i lab", {}, "stop")
    assert str(caught.value) == (
        "no run was found that this user can read; node0 and node1: /srv/muster/.muster belongs to ana, and ben "
        "cannot read it: run the command as ana, or set launch_workdir to the work directory of your own runs"
    )
    assert refused(infos, "run_x").startswith("run_x was not found; node0 and node1: /srv/muster/.muster belongs")
    assert pick([*infos, info("node2", OLD)], None, None, {}) == "run_a"


def test_the_run_that_was_asked_for() -> None:
    assert pick([info("node0", NEW), info("node1", NEW, OLD)], "run_a", None, {}) == "run_a"


def test_no_run_anywhere() -> None:
    text = refused([info("node0"), info("node1"), SILENT], None, {"node0": "/data/muster"})
    assert text == (
        "no run on any node (searched node0:/data/muster and node1; no answer from node9); "
        "to start one: ansible-playbook -i lab muster.train.launch"
    )


def test_an_unknown_run() -> None:
    runs = [(f"run_{number}", f"2026-11-20T10:00:0{number}Z") for number in range(7)]
    text = refused([info("node0", *runs)], "run_x", {"node0": "~/muster"})
    assert text == (
        "no run run_x on any node (searched node0:~/muster); the newest are: run_6, run_5, run_4, run_3, run_2"
    )
    assert refused([info("node0")], "run_x").startswith("no run run_x on any node (searched node0); to start one:")


def test_no_node_answered() -> None:
    assert refused([SILENT], "run_a") == (
        "no node answered\nnode9: answer: no route to host; expected an answer (Ansible); try it: ssh node9"
    )
    assert refused([]) == "no node answered"


def test_nodes_that_were_not_reached_are_explained_as_a_launch_does() -> None:
    text = (
        'Task failed: Data could not be sent to remote host "10.0.0.9". Make sure this host can be reached over ssh: '
        "ssh: connect to host 10.0.0.9 port 22: Connection refused"
    )
    answers = [("node9", {"unreachable": True, "msg": text}), ("node8", {"failed": True, "msg": "no disk"})]
    infos = read_infos(answers)
    with pytest.raises(NoRun) as caught:
        pick(infos, None, None, {})
    assert str(caught.value).splitlines() == [
        "no node answered",
        "node9: answer: ssh: connect to host 10.0.0.9 port 22: Connection refused; expected an SSH server (Ansible); "
        "start sshd there, or set its port (ansible_port; for discover, 10.0.0.9:PORT)",
        "node8: no disk",
    ]
