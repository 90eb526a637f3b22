# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `accept`, with commands that print at once what those of its stages would print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._sweep import child
from ansible_collections.muster.train.plugins.plugin_utils._verbs import accept as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support import accept_parts
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.requests import make

PROFILE = {name: threshold.to_dict() for name, threshold in accept_parts.THRESHOLDS.items()}
PROFILE = {name: {key: value for key, value in known.items() if value is not None} for name, known in PROFILE.items()}


@dataclass
class Command:
    """A command that has done its work; sample is what it shows before, while which Ctrl-C may be pressed."""

    document: dict[str, Any]
    press: Callable[[], None] | None
    code: int = 0
    interrupted: list[bool] = field(default_factory=list)

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def lines(self) -> Iterator[str | None]:
        if self.press:
            yield json.dumps({"event": "sample", "run_id": "run_begun", "phase": "running"})
            self.press()
            yield None
        yield json.dumps(self.document)

    def text(self) -> str:
        return json.dumps(self.document)

    def interrupt(self) -> None:
        self.interrupted.append(True)


class Commands:
    """What was started: the verb, and its parameters."""

    def __init__(self) -> None:
        self.started: list[tuple[str, dict[str, Any]]] = []
        self.documents = accept_parts.documents()
        self.press: dict[str, Callable[[], None]] = {}  # by stage

    def start(self, words: Sequence[str], _environment: Mapping[str, str], log: Path) -> Command:
        [options] = [Path(word[1:]) for word in words if word.startswith("@")]
        name = words[-1].rpartition(".")[2]
        self.started.append((name, json.loads(options.read_text())))
        document = {} if name == "stop" else self.documents[log.stem]
        return Command({"verb": name, **document}, self.press.get(log.stem) if name != "stop" else None)

    def verbs(self) -> list[str]:
        return [name for name, _parameters in self.started]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    commands = Commands()
    monkeypatch.setattr(child, "ChildCommand", commands.start)
    return commands


def play_of(home: Path, profile: Any = PROFILE, options: Mapping[str, Any] | None = None, **given: Any) -> Play:
    request = make(given, verb="accept", experiments=str(home / "experiments"))
    values = {"launch_acceptance": profile}
    return Play(request, interrupt=Interrupt(), cli_options=options or {}, read_values=lambda _host, _names: values)


def accepted(play: Play) -> dict[str, Any]:
    conclusion = verb.run.conclusion(play)
    return acceptance_of(conclusion)


def acceptance_of(conclusion: Conclusion) -> dict[str, Any]:
    document = documents.document("accept", None, None, conclusion.document or {})
    assert schemas.errors(document) == []
    known: dict[str, Any] = document["acceptance"]
    assert (conclusion.failure is not None) == (known["verdict"] == "fail" or not known["is_complete"])
    assert json.loads(Path(document["folder"], "accept.json").read_text()) == known
    return known


def test_the_stages_are_commands_with_what_was_given(tmp_path: Path, commands: Commands) -> None:
    known = accepted(play_of(tmp_path, iterations=3, nproc=2, mode="tcp", rounds=2))
    assert known["verdict"] == "pass"
    home = str(tmp_path / "experiments" / known["accept_id"])
    assert commands.verbs() == ["preflight", "benchmark", "benchmark", "benchmark", "pairs"]
    preflight, *benchmarks, pairs = (parameters for _name, parameters in commands.started)
    assert preflight == {"launch_experiments_dir": home, "mode": "tcp", "page": f"{home}/preflight.html"}
    given = {"launch_experiments_dir": home, "mode": "tcp", "nproc": 2}
    assert pairs == {**given, "rounds": 2}
    scopes = [("nodes", "intra"), ("rails", "rails"), ("all", "all")]
    assert benchmarks == [{**given, "iterations": 3, "scope": scope, "label": name} for scope, name in scopes]


def test_the_size_of_a_figure_is_measured_unless_another_is_given(tmp_path: Path, commands: Commands) -> None:
    profile = {"all": {**PROFILE["all"], "max_bytes": "2G"}}
    accepted(play_of(tmp_path, profile))
    accepted(play_of(tmp_path, profile, max_bytes="1M"))
    sizes = [parameters.get("max_bytes") for name, parameters in commands.started if name == "benchmark"]
    assert sizes == [None, None, 2 << 30, 1 << 20, 1 << 20, 1 << 20]


def test_a_stage_that_fails_does_not_keep_the_rest_from_running(tmp_path: Path, commands: Commands) -> None:
    commands.documents["intra"] = accept_parts.refused("disks", "/ is full")
    known = accepted(play_of(tmp_path))
    assert len(commands.started) == 5
    assert [stage["verdict"] for stage in known["stages"]] == ["pass", "fail", "pass", "pass", "pass"]
    assert known["stages"][1]["errors"][0]["check"] == "disks"


def test_the_next_acceptance_says_what_has_changed(tmp_path: Path, commands: Commands) -> None:
    first = accepted(play_of(tmp_path))
    assert (first["against"], first["changes"]) == (None, [])
    commands.documents["all"] = {}
    second = accepted(play_of(tmp_path))
    assert second["against"] == first["accept_id"] != second["accept_id"]
    changed = [(item["stage"], item["subject"]) for item in second["changes"] if item["percent"] is None]
    assert changed == [("all", "verdict")]


def test_ctrl_c_stops_the_run_of_the_stage_and_the_rest_is_unknown(tmp_path: Path, commands: Commands) -> None:
    play = play_of(tmp_path)
    interrupt = Interrupt()
    commands.press["rails"] = lambda: interrupt._on_interrupt(2, None)
    commands.documents["rails"] = {"run_id": "run_begun"}
    known = accepted(replace(play, interrupt=interrupt))
    assert commands.verbs() == ["preflight", "benchmark", "benchmark", "stop"]
    assert commands.started[-1][1]["run_id"] == "run_begun"
    assert [stage["verdict"] for stage in known["stages"]] == ["pass", "pass", "unknown", "unknown", "unknown"]
    assert not known["is_complete"]


@pytest.mark.parametrize(
    "play", [{"options": {"become_ask_pass": True}}, {"profile": {"inter": {}}}], ids=["questions", "profile"]
)
def test_nothing_starts_where_it_is_refused(tmp_path: Path, commands: Commands, play: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        verb.run.conclusion(play_of(tmp_path, **play))
    assert commands.started == [] and not (tmp_path / "experiments").exists()


def test_check_mode_shows_the_stages_and_starts_none(tmp_path: Path, commands: Commands) -> None:
    conclusion = verb.run.conclusion(replace(play_of(tmp_path), is_checked=True))
    assert commands.started == [] and not (tmp_path / "experiments").exists()
    assert sum(accept_parts.SOURCE in str(line) for line in conclusion.lines) == 3
