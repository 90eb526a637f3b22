# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which run a verb is about, and of what is said when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.pick import NoAnswer, NoRun, pick


def info(node: str, *runs: tuple[str, str], alive: str | None = None) -> Info:
    listed = [
        {"run_id": name, "created": created, "phase": "running", "alive": name == alive} for name, created in runs
    ]
    result: dict[str, Any] = {"run": {"node": node, "phase": "not_found"}, "runs": listed}
    return read_infos([(node, result)])[0]


SILENT = read_infos([("node9", {"unreachable": True, "msg": "no route\x1b[2J to host"})])[0]
OLD, NEW = ("run_a", "2026-11-20T10:00:00Z"), ("run_b", "2026-11-20T11:00:00Z")


HIDDEN = {"path": "/srv/muster/.muster", "owner": "ana", "user": "ben"}
UNREADABLE = read_infos(
    (node, {"run": {"phase": "unknown", "why": "hidden"}, "runs": [], "hidden": HIDDEN}) for node in ("node0", "node1")
)
SEVERAL = [(f"run_{number}", f"2026-11-20T10:00:0{number}Z") for number in range(7)]
# As Ansible 2.19 has it of a port that is closed.
CLOSED = (
    'Task failed: Data could not be sent to remote host "10.0.0.9". Make sure this host can be reached over ssh: '
    "ssh: connect to host 10.0.0.9 port 22: Connection refused"
)
AWAY = read_infos([("node9", {"unreachable": True, "msg": CLOSED}), ("node8", {"failed": True, "msg": "no disk"})])
# The answers, the run that is asked for, and the verb.
REFUSED: dict[str, tuple[list[Info], str | None, str | None]] = {
    "no run": ([info("node0"), info("node1"), SILENT], None, None),
    "no such run": ([info("node0", *SEVERAL)], "run_x", None),
    "no such run, nor another": ([info("node0")], "run_x", None),
    "no such run to stop": ([info("node0", OLD)], "run_x", "stop"),
    "no run to stop": ([info("node0")], None, "stop"),
    "runs of another user": (UNREADABLE, None, "stop"),
    "a run of another user": (UNREADABLE, "run_x", None),
    "no answer": ([SILENT], "run_a", None),
    "no answer from several": (AWAY, None, None),
    "no node": ([], None, None),
}


def refusal(infos: list[Info], asked: str | None, verb: str | None) -> NoRun:
    with pytest.raises(NoRun) as caught:
        pick(infos, asked, "ansible-playbook -i lab", {"node0": "~/muster"}, verb)
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_why_there_is_no_run(name: str) -> None:
    refused = refusal(*REFUSED[name])
    assert isinstance(refused, NoAnswer) is name.startswith(("no answer", "no node"))
    assert all(line.isprintable() for line in str(refused).splitlines())
    assert len(str(refused).splitlines()) == {"no answer": 2, "no answer from several": 3}.get(name, 1)


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


def test_runs_of_another_user_do_not_hide_ones_own() -> None:
    assert pick([*UNREADABLE, info("node2", OLD)], None, None, {}) == "run_a"


def test_the_run_that_was_asked_for() -> None:
    assert pick([info("node0", NEW), info("node1", NEW, OLD)], "run_a", None, {}) == "run_a"
