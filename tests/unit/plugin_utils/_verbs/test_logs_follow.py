# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that are followed: files that a real shell reads, and what the first node prints of all of them."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._verbs import logs
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import (
    CommandOutput,
    HostSession,
    Play,
    Unreachable,
)
from ansible_collections.muster.train.tests.support.reports import RUN_ID
from ansible_collections.muster.train.tests.support.verbs import play_of

RUNNING, SUCCEEDED = {"phase": "running"}, {"phase": "succeeded", "end": {"verdict": "succeeded"}}
STATUS = f"ansible-playbook -i lab muster.train.status -e run_id={RUN_ID}"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return capture(monkeypatch)


def capture(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that will be printed."""
    lines: list[str] = []
    display = MagicMock(display=lambda text, **_options: lines.extend(text.splitlines()))
    monkeypatch.setattr(screen, "display", display)
    return lines


def write(folder: Path, state: dict[str, Any], *lines: str) -> None:
    """Write what a runner does: its state, and these lines a second apart."""
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "state.json").write_text(json.dumps(state))
    stamped = [f"2026-11-20T14:30:{second:02d}.000Z {line}\n" for second, line in enumerate(lines)]
    (folder / "logs" / "rank_00.log").write_text("".join(stamped))


def play_on(*folders: Path, **given: Any) -> Play:
    """A play that follows the nodes whose runs are in these folders."""
    followed = {folder.name: str(folder) for folder in folders}
    asked = {"follow": True, "lines": 50, "rank": None, "grep": None, **given}
    hosts = {node: {"launch__report": {"followed": followed}} for node in (*followed, "other")}
    play = play_of("logs", hosts, asked, call="ansible-playbook -i lab")
    return dataclasses.replace(play, host=HostSession(run_line=run), interrupt=Interrupt())


def hasten(play: Play) -> Play:
    """Let time pass with each look at the clock."""
    clock = count(step=0.05)
    return dataclasses.replace(play, clock=lambda: next(clock), pause=lambda _seconds: time.sleep(0.001))


def run(words: str) -> CommandOutput:
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    return CommandOutput(done.stdout, done.stderr)


def test_the_lines_of_all_nodes_by_their_times_until_the_run_has_ended(tmp_path: Path, printed: list[str]) -> None:
    folders = tmp_path / "node0", tmp_path / "node1"
    write(folders[0], SUCCEEDED, "loss 5", "talk", "loss 4")
    write(folders[1], SUCCEEDED, "talk", "loss 3")
    play = play_on(*folders, grep="loss", rank=0)
    for node in ("node1", "node0"):  # the first one prints
        assert logs.follow.work(play, node) == {}
    assert printed == [
        "2026-11-20 14:30:00.000 node0/rank0 | loss 5",
        "2026-11-20 14:30:01.000 node1/rank0 | loss 3",
        "2026-11-20 14:30:02.000 node0/rank0 | loss 4",
        *printed[3:],
    ]
    assert STATUS in printed[3]


def follow_away(folder: Path) -> None:
    """Follow a node that does not answer at first."""
    failures = iter([Unreachable("no\nroute")])

    def read(words: str) -> CommandOutput:
        for failure in failures:
            raise failure
        return run(words)

    write(folder, SUCCEEDED, "one")
    logs.follow.work(dataclasses.replace(play_on(folder), host=HostSession(run_line=read)), folder.name)


def test_a_node_that_is_away_for_a_while(tmp_path: Path, printed: list[str]) -> None:
    follow_away(tmp_path)
    away, back, line, end = printed
    assert all(tmp_path.name in line for line in (away, back))
    assert (line.endswith("rank0 | one"), STATUS in end) == (True, True)


def test_a_runner_that_is_dead_ends_it(tmp_path: Path, printed: list[str]) -> None:
    known: list[dict[str, Any]] = [{"alive": True}, {"alive": False, "phase": "lost"}]
    answers: Iterator[dict[str, Any]] = iter([{"unreachable": True}, *({"run": run} for run in known)])
    session = HostSession(run_line=run, run_module=lambda _module, _options: next(answers))
    write(tmp_path, RUNNING)
    logs.follow.work(hasten(dataclasses.replace(play_on(tmp_path), host=session)), tmp_path.name)
    assert (len(printed), STATUS in printed[0], next(answers, None)) == (1, True, None)


def follow_silent(folder: Path) -> None:
    """Follow a node whose run has ended, and one that never answers."""
    write(folder / "node0", SUCCEEDED)
    logs.follow.work(hasten(play_on(folder / "node0", folder / "node1")), "node0")


def test_a_node_that_gives_no_answer_while_the_others_have_ended(tmp_path: Path, printed: list[str]) -> None:
    follow_silent(tmp_path)
    silent, end = printed
    assert (silent.startswith("node1: "), STATUS in end) == (True, True)


def follow_interrupted(folder: Path) -> None:
    play = play_on(folder)
    assert play.interrupt is not None
    interrupt = play.interrupt

    def read(words: str) -> CommandOutput:
        interrupt._on_interrupt(signal.SIGINT, None)
        return run(words)

    write(folder, RUNNING, "one")
    logs.follow.work(dataclasses.replace(play, host=HostSession(run_line=read)), folder.name)


def test_ctrl_c_stops_following_and_not_the_run(tmp_path: Path, printed: list[str]) -> None:
    follow_interrupted(tmp_path)
    _stopped, again = printed
    assert f"muster.train.logs -e run_id={RUN_ID} -e follow=true" in again


def test_a_node_that_is_not_followed_is_not_visited(tmp_path: Path) -> None:
    play = play_on(tmp_path)
    assert logs.follow.work(play, "other") is None
    assert logs.follow.work(dataclasses.replace(play, is_checked=True), tmp_path.name) is None
