# SPDX-License-Identifier: GPL-3.0-or-later
"""How the stacks of a run are taken, which files are kept, and why there may be none."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import stacks
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import Hosts, play_of, texts

FRAME = {"function": "step\x1b[31m", "file": "/home/me/train.py", "line": 41}
SHOWN = {"source": "py-spy", "threads": [{"name": "MainThread", "main": True, "frames": [FRAME]}]}
HIDDEN: dict[str, Any] = {"source": None, "why": "no permission", "threads": []}
SILENT = {"launch__stacks": {"unreachable": True, "msg": "no route"}}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def taken(node: str, *stacks: dict[str, Any], phase: str = "running", **more: Any) -> dict[str, Any]:
    """The answer of a node with the stacks of its ranks."""
    first = 2 * int(node[-1])
    known = [{"rank": first + number, "pid": 40 + first + number, **item} for number, item in enumerate(stacks)]
    return {"launch__stacks": {**info(node, phase, **more)["launch__info"], "stacks": known}}


def play(hosts: Hosts, rank: int | None = None, policy: dict[str, Any] | None = None) -> Play:
    return play_of("stacks", hosts, {"rank": rank}, policy, experiments="experiments")


def reason(hosts: Hosts) -> str:
    """Why no stacks are shown."""
    conclusion = stacks.report.conclusion(play(hosts))
    assert isinstance(conclusion.failure, UserError)
    assert (conclusion.lines, conclusion.files) == ((), [])
    assert conclusion.document is not None
    assert (conclusion.document["ranks"], conclusion.document["directory"]) == ([], None)
    return str(conclusion.failure)


def test_a_node_takes_the_stacks_of_its_ranks() -> None:
    options = {"workdir": "/data", "run_id": RUN_ID, "node": "node1", "python": "python3", "docker": ["docker"]}
    hosts: dict[str, Any] = {"node0": {}, "node1": {}}
    assert stacks.take.options(play(hosts, policy={"launch_workdir": "/data"}), "node1") == options
    assert stacks.take.options(play(hosts, 0, {"launch_workdir": "/data"}), "node1") == {**options, "rank": 0}


def test_a_node_has_longer_than_for_an_answer_about_its_run() -> None:
    assert stacks.take.limit_s is not None
    few: dict[str, Any] = {"node0": {}}
    assert stacks.take.limit_s(play(few, policy={"launch_lost_after": 20})) == 20 + 30
    assert stacks.take.limit_s(play({f"node{number}": {} for number in range(8)})) == 12 + 8 // 4 + 30


def test_a_file_is_kept_of_each_rank_that_has_shown_its_stacks() -> None:
    conclusion = stacks.report.conclusion(
        play({"node0": taken("node0", SHOWN, SHOWN), "node1": taken("node1", HIDDEN, SHOWN), "node2": SILENT})
    )
    folder = Path("experiments", RUN_ID, "stacks", "20261121T030000Z")
    assert [file.path for file in conclusion.files] == [folder / f"rank_0{rank}.txt" for rank in (0, 1, 3)]
    assert all(file.is_private and "/home/me/train.py" in file.text for file in conclusion.files)
    document = conclusion.document
    assert document is not None
    assert document["directory"] == os.path.abspath(folder)
    files = [os.path.abspath(folder / f"rank_0{rank}.txt") if rank != 2 else None for rank in range(4)]
    assert [rank["file"] for rank in document["ranks"]] == files
    assert [group["ranks"] for group in document["groups"]] == [[0, 1, 3]]
    assert [error["node"] for error in document["errors"]] == ["node2"]
    assert ["stacks:", str(folder)] in [line.split() for line in texts(conclusion)]
    assert conclusion.failure is None


def test_in_check_mode_no_directory_is_named() -> None:
    checked = dataclasses.replace(play({"node0": taken("node0", SHOWN)}), is_checked=True)
    conclusion = stacks.report.conclusion(checked)
    assert conclusion.document is not None
    assert conclusion.document["directory"] is None
    assert [rank["file"] for rank in conclusion.document["ranks"]] == [None]
    assert not any("experiments" in line for line in texts(conclusion))


def test_ranks_that_show_nothing_fail_the_verb_below_their_reasons() -> None:
    conclusion = stacks.report.conclusion(play({"node0": taken("node0", HIDDEN, HIDDEN)}))
    assert isinstance(conclusion.failure, UserError)
    assert (conclusion.files, any("no permission" in line for line in texts(conclusion))) == ([], True)
    assert conclusion.document is not None
    assert [rank["why"] for rank in conclusion.document["ranks"]] == ["no permission"] * 2


def test_without_stacks_it_says_why() -> None:
    active, over = taken("node0", alive=True), taken("node0", phase="succeeded")
    for hosts, words in (
        ({"node0": active}, ["not Python"]),
        ({"node0": active, "node1": SILENT}, ["node1"]),
        ({"node0": over, "node1": SILENT}, ["node1"]),
        ({"node0": over}, ["succeeded", f"muster.train.logs -e run_id={RUN_ID}"]),
    ):
        assert [word for word in words if word not in reason(hosts)] == []
        assert RUN_ID in reason(hosts)


def test_a_rank_that_the_run_does_not_have() -> None:
    with pytest.raises(UserError, match=r"99.*-e rank"):
        stacks.report.conclusion(play({"node0": taken("node0", SHOWN)}, 99))
