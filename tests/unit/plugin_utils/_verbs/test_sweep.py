# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `sweep`, with commands that do at once what theirs would do."""

from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import ProgressLine
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._sweep import child, folder, record, text
from ansible_collections.muster.train.plugins.plugin_utils._sweep.command import SweepCommand
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point
from ansible_collections.muster.train.plugins.plugin_utils._verbs import sweep as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.requests import make

RUNNING = json.dumps({"phase": "running"})
REFUSED = json.dumps({"verb": "launch", "errors": [{"message": "absent.py does not exist"}]})


class Commands:
    """What the commands of a sweep do: verdicts has that of a point's runs, by its label, None if it is refused."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str]] = []
        self.synced: list[str] = []  # the launches that bring the code
        self.verdicts: dict[str, str | None] = {}
        self.press: Callable[[], None] | None = None  # presses Ctrl-C while a run goes on
        self.shown: dict[str, list[str]] = {}  # what the launch of a point shows, by its label
        self.is_ready = True
        self.checked: dict[str, Any] = {}  # the parameters of the preflight
        self.is_stop_late = False  # a run ends before its stop arrives

    def start(self, words: Sequence[str], _environment: Mapping[str, str], log: Path) -> Child:
        [options] = [Path(word[1:]) for word in words if word.startswith("@")]
        known = json.loads(options.read_text())
        name = words[-1].removeprefix("muster.train.")
        self.started.append((name, log.stem))
        self.synced += [log.stem] * (name == "launch" and known["sync"])
        run = Path(known["launch_experiments_dir"], known.get("run_id", ""), "run.yml")
        if name == "preflight":
            self.checked = known
            document = {"verb": name, "errors": [] if self.is_ready else [{"message": "no GPU"}]}
            return Child([json.dumps(document)], 0 if self.is_ready else 2)
        if name == "stop" and self.is_stop_late:
            return Child([], 0)
        verdict = "stopped" if name == "stop" else self.verdicts.get(log.stem, "succeeded")
        if verdict is None:
            return Child([REFUSED], 2)
        loss = {"last": float(log.stem[-3])}
        run.parent.mkdir(exist_ok=True)
        run.write_text(yaml.safe_dump({"verdict": verdict, "elapsed_s": 1.0, "loss": loss, "parameters": {}}))
        return Child(self.shown.get(log.stem, [RUNNING]), 0, self.press if name == "launch" else None)


@dataclasses.dataclass
class Child:
    """A command that has done its work; its lines are those of its standard output."""

    output: Sequence[str]
    code: int
    press: Callable[[], None] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def lines(self) -> Iterator[str | None]:
        yield from self.output
        if self.press:
            self.press()
            yield None

    def text(self) -> str:
        return "".join(self.output)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    commands = Commands()
    monkeypatch.setattr(child, "ChildCommand", commands.start)
    return commands


def play_of(home: Path, *, is_checked: bool = False, options: Mapping[str, Any] | None = None, **given: Any) -> Play:
    extra_vars = {"sweep": {"channels": [28, 42]}, "preflight": False, **given}
    request = make(extra_vars, verb="sweep", defaults={"script": "train.py"}, experiments=str(home / "experiments"))
    return Play(request, interrupt=Interrupt(), is_checked=is_checked, cli_options=options or {})


def swept(home: Path, **given: Any) -> Conclusion:
    return verb.run.conclusion(play_of(home, **given))


def outcomes(conclusion: Conclusion) -> list[str]:
    assert conclusion.document is not None
    return [point["outcome"] for point in conclusion.document["points"]]


def test_the_points_are_launched_and_compared(tmp_path: Path, commands: Commands) -> None:
    conclusion = swept(tmp_path)
    assert commands.started == [("launch", "point1.1"), ("launch", "point2.1")]
    assert outcomes(conclusion) == ["succeeded"] * 2
    assert (conclusion.failure, conclusion.is_changed) == (None, True)
    assert conclusion.document is not None
    assert conclusion.document["best"]["parameters"] == {"channels": 28}
    [launch] = [str(line) for line in conclusion.lines if "to launch it" in line]
    assert json.loads(launch.rpartition(" -e ")[2].strip("'")) == {"channels": 28}
    *numbers, page = conclusion.files
    names = ["report.csv", "report.json", "report.html"]
    assert [file.path for file in (*numbers, page)] == [Path(conclusion.document["folder"], name) for name in names]
    assert all(file.is_private for file in (*numbers, page))
    assert page.is_same is not None and page.is_same(page.text) and not page.is_same("")

    again = swept(tmp_path)
    assert len(commands.started) == 2
    assert (outcomes(again), again.is_changed) == (["succeeded"] * 2, False)


def test_the_same_command_runs_what_has_not_succeeded(tmp_path: Path, commands: Commands) -> None:
    commands.verdicts = {"point1.1": "failed", "point2.1": None}
    conclusion = swept(tmp_path)
    assert outcomes(conclusion) == ["failed", "refused"]
    assert conclusion.failure is not None
    assert conclusion.document is not None
    assert conclusion.document["points"][1]["why"] == "absent.py does not exist"
    assert conclusion.document["best"] is None
    commands.verdicts, commands.started = {"point2.1": "failed"}, []
    assert outcomes(swept(tmp_path)) == ["succeeded", "failed"]
    assert outcomes(swept(tmp_path)) == ["succeeded", "failed"]
    assert [point for _verb, point in commands.started] == ["point1.1", "point2.1", "point2.1"]


def test_the_end_after_some_failures(tmp_path: Path, commands: Commands) -> None:
    commands.verdicts = {"point1.1": "failed"}
    assert outcomes(swept(tmp_path, max_failures=1)) == ["failed", "pending"]


END = SweepCommand.end


def end_after(command: SweepCommand, seconds: float, point: Point, began: float) -> Point:
    """End a point as if its run had taken so long."""
    return END(command, point, began - seconds)


def test_a_random_order_is_that_of_the_sweep_and_is_kept(tmp_path: Path, commands: Commands) -> None:
    axes, given = {"channels": [*range(1, 9)]}, [f"point{number}.1" for number in range(1, 9)]
    commands.verdicts = dict.fromkeys(given[::2], "failed")
    conclusion = swept(tmp_path / "a", sweep=axes, shuffle=True)
    order = [point for _verb, point in commands.started]
    assert (order != given, sorted(order)) == (True, given)
    assert outcomes(conclusion) == ["failed", "succeeded"] * 4, "the document has them as they were given"
    commands.verdicts, commands.started = {}, []
    swept(tmp_path / "a", sweep=axes, shuffle=True)
    assert [point for _verb, point in commands.started] == [point for point in order if point in given[::2]]


@pytest.mark.parametrize(("most", "launches", "seconds"), [(None, 3, 6), (1, 1, 0)])
def test_a_pause_is_between_two_launches_only(
    tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch, most: int | None, launches: int, seconds: int
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(verb, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append))
    commands.verdicts = {"point1.1": "failed"}
    limit = {} if most is None else {"max_failures": most}
    swept(tmp_path, sweep={"channels": [28, 42, 56]}, pause="3s", **limit)
    assert (len(commands.started), sum(slept)) == (launches, seconds)


def test_ctrl_c_ends_a_pause(tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    play = play_of(tmp_path, pause="10m")
    assert play.interrupt is not None
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        assert play.interrupt is not None
        play.interrupt._on_interrupt(signal.SIGINT, None)

    monkeypatch.setattr(verb, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=sleep))
    assert outcomes(verb.run.conclusion(play)) == ["succeeded", "pending"]
    assert len(slept) == 1


def test_the_code_is_brought_once_for_all_repeats_of_all_points(tmp_path: Path, commands: Commands) -> None:
    swept(tmp_path, sync=True, repeat=2)
    assert [point for _verb, point in commands.started] == ["point1.1", "point1.2", "point2.1", "point2.2"]
    assert commands.synced == ["point1.1"]
    commands.verdicts, commands.synced = {"point1.1": None}, []
    swept(tmp_path / "refused", sync=True)
    assert commands.synced == ["point1.1", "point2.1"], "a launch that was refused may not have brought it"


def test_what_is_drawn_has_the_position_the_time_left_and_the_best_so_far(
    tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(ProgressLine, "draw", lambda _line, text, *_news, **_more: drawn.append(text))
    monkeypatch.setattr(SweepCommand, "end", partialmethod(end_after, 100.0))
    swept(tmp_path)
    parts = [(text.partition(" · ")[0], " left" in text, "best loss 1" in text) for text in drawn]
    assert parts == [("run 1 of 2", False, False), ("run 2 of 2", True, True)]


def test_the_cluster_is_checked_once(tmp_path: Path, commands: Commands) -> None:
    swept(tmp_path, preflight=True)
    assert [name for name, _point in commands.started] == ["preflight", "launch", "launch"]


@pytest.mark.parametrize(
    ("given", "nnodes"),
    [
        ({"sweep": {"nnodes": [1, 2]}}, 2),
        ({"sweep": {"nnodes": [1]}}, 1),
        ({"nnodes": 1}, 1),
        ({}, None),
    ],
)
def test_only_nodes_that_have_part_in_a_launch_are_checked(
    tmp_path: Path, commands: Commands, given: dict[str, Any], nnodes: int | None
) -> None:
    swept(tmp_path, preflight=True, **given)
    assert commands.checked.get("nnodes") == nnodes


def test_nothing_is_launched_if_the_cluster_is_not_ready(tmp_path: Path, commands: Commands) -> None:
    commands.is_ready = False
    conclusion = swept(tmp_path, preflight=True)
    assert "no GPU" in str(conclusion.failure)
    assert (outcomes(conclusion), conclusion.lines, conclusion.files) == (["pending"] * 2, (), ())
    assert [name for name, _point in commands.started] == ["preflight"]


def test_a_check_starts_and_writes_nothing(tmp_path: Path, commands: Commands) -> None:
    conclusion = swept(tmp_path, is_checked=True)
    assert (outcomes(conclusion), conclusion.is_changed, conclusion.files) == (["pending"] * 2, False, ())
    assert conclusion.lines
    assert commands.started == []
    assert not (tmp_path / "experiments").exists()


def test_ctrl_c_stops_the_run_and_the_sweep(tmp_path: Path, commands: Commands) -> None:
    play = play_of(tmp_path)
    assert play.interrupt is not None
    commands.press = partial(play.interrupt._on_interrupt, signal.SIGINT, None)
    conclusion = verb.run.conclusion(play)
    assert commands.started == [("launch", "point1.1"), ("stop", "point1.1")]
    assert outcomes(conclusion) == ["stopped", "pending"]


def test_a_run_that_ends_before_its_stop_arrives_has_succeeded(
    tmp_path: Path, commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    play = play_of(tmp_path)
    assert play.interrupt is not None
    commands.press, commands.is_stop_late = partial(play.interrupt._on_interrupt, signal.SIGINT, None), True
    assert outcomes(verb.run.conclusion(play)) == ["succeeded", "pending"]
    [line] = [line for line in capsys.readouterr().out.splitlines() if "succeeded" in line]
    assert text.TOO_LATE in line


def test_a_run_that_went_on_is_followed(tmp_path: Path, commands: Commands) -> None:
    play = play_of(tmp_path)
    planned = record.plan_sweep(play.request)
    first = dataclasses.replace(planned.points[0], outcome=record.RUNNING, run_id="train_point1.1")
    home = tmp_path / "experiments" / planned.sweep_id
    (home / "train_point1.1").mkdir(parents=True)
    (home / "train_point1.1" / "run.yml").write_text("{verdict: running, parameters: {}}")
    folder.write(home, planned.with_point(first))
    assert outcomes(verb.run.conclusion(play)) == ["succeeded"] * 2
    assert commands.started == [("follow", "point1.1"), ("launch", "point2.1")]


def test_an_objective_that_no_run_has(tmp_path: Path, commands: Commands) -> None:
    conclusion = swept(tmp_path, objective="other")
    assert conclusion.document is not None
    assert (conclusion.document["best"], conclusion.failure) == (None, None)
    assert any("objective=NAME" in line for line in conclusion.lines)


@pytest.mark.parametrize("options", [{"ask_pass": True}, {"become_ask_pass": True}, {"vault_ids": ["a@prompt"]}])
def test_a_sweep_asks_for_no_password(tmp_path: Path, commands: Commands, options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="-file"):
        swept(tmp_path, options=options)
    assert commands.started == []
