# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of whole screens: tests/screens has what a verb prints at 3 and at 128 nodes; `make screens` writes it.

The callback and the steps are those of a play; what the nodes answer is recorded, as 128 launches take too long here.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.callback import brief
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster, Launch
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import render, report_on, verdict
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, Silent
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import Users
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import FabricPolicy
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, find_step
from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, facts_of, healthy
from ansible_collections.muster.train.tests.support.reports import RUN_ID
from ansible_collections.muster.train.tests.support.screens import kept
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

# How many nodes a screen shows.
SIZES = (3, 128)
SCREEN_LINES = 40
WIDTH = 100


class Screen:
    """What is printed while tasks of a verb run on nodes n001, n002, …."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path, size: int) -> None:
        self.nodes = [f"n{number:03d}" for number in range(1, size + 1)]
        self.lines: list[str] = []
        display = MagicMock(verbosity=0, display=lambda text, **_options: self.lines.append(text))
        clock = count(step=0.01)
        monkeypatch.setattr(time, "monotonic", lambda: next(clock))
        monkeypatch.setattr(screen, "display", display)
        monkeypatch.chdir(home)
        self.home = home
        self.callback = brief.CallbackModule()
        self.callback._display = display
        self.callback._plugin_options = {"display_failed_stderr": False, "show_custom_stats": False}

    def stage(self, action: str, unreachable: tuple[str, ...] = (), changed: bool = False) -> None:
        """Run a task on every node: an action, or a step of a verb."""
        task = SimpleNamespace(
            action=f"muster.train.{'step' if '.' in action else action}", _uuid=action, args={"name": action},
            loop=None, run_once=False, check_mode=False,
            ignore_unreachable=True, get_name=lambda: action,
        )  # fmt: skip
        self.callback.v2_playbook_on_task_start(task, False)
        for node in self.nodes:
            host, answer = SimpleNamespace(get_name=lambda node=node: node), {"changed": changed}
            result = SimpleNamespace(task=task, host=host, result=answer)
            if node in unreachable:
                self.callback.v2_runner_on_unreachable(result)
            else:
                self.callback.v2_runner_on_ok(result)
        self.callback._end_tasks()

    def conclude(self, verb: str, name: str, answers: dict[str, Any]) -> None:
        """Print what a step of a verb concludes of the nodes' answers."""
        step = find_step(name)
        assert isinstance(step, Conclude)
        plan = {"run_id": RUN_ID, "head": {"node": self.nodes[0]}}
        known = {"launch__plan": {"plan": plan}, "launch__joined": {"phase": "running"}}
        hosts = {
            node: {**known, **answer, "launch__collected": answer["launch__info"]} for node, answer in answers.items()
        }
        request = {"experiments": str(self.home / "experiments"), "call": "ansible-playbook -i inventories/lab"}
        play = play_of(verb, hosts, {}, {"launch__succeed_on": ["succeeded"]}, None, **request)
        screen.show(texts(step.conclusion(play)))

    def answers(self, phase: str, **differing: dict[str, Any]) -> dict[str, Any]:
        """What every node answers, and what some of them answer instead."""
        hosts = {}
        for rank, node in enumerate(self.nodes):
            progress = {"step": 400, "total_steps": 1000, "first_loss": 5.551, "loss": 1.932}
            progress["tokens_per_s"] = 41200.0 + rank
            record = {
                "node": node, "node_rank": rank, "run_id": RUN_ID, "phase": phase, "nproc": 8, "first_rank": 8 * rank,
                "world_size": 8 * len(self.nodes), "nnodes": len(self.nodes), "elapsed_s": 754.0, "progress": progress,
                "run_dir": f"/home/ann/muster/.muster/nodes/{node}/runs/{RUN_ID}", "log_tail": [],
            }  # fmt: skip
            run = {**record, **differing.get(node, {})}
            hosts[node] = {"launch__info": {"run": run, "runs": [], "log": [], "changed": phase == "stopped"}}
        return hosts


@pytest.fixture(params=SIZES)
def shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Screen]:
    """A screen, of which the test fills the lines; they are compared with the file named like the test."""
    part = Screen(monkeypatch, tmp_path, request.param)
    yield part
    name = request.node.originalname.removeprefix("test_")
    text = "\n".join(line.rstrip() for line in part.lines) + "\n"
    assert text == kept(f"{name}_{request.param}.txt", text)
    assert len(text.splitlines()) <= SCREEN_LINES


def test_launch(shown: Screen) -> None:
    shown.stage("launch.gather")
    shown.stage("launch.start")
    shown.conclude("launch", "launch.announce", shown.answers("running"))
    screen.show(["running  step 400/1000  loss 1.932  5.3M tokens/s  12:34 elapsed  ETA 18:51"])
    shown.stage("collect.fetch")
    shown.conclude("launch", "collect.report", shown.answers("succeeded"))


def test_launch_failed(shown: Screen) -> None:
    failure: dict[str, Any] = {
        "rank": 9,
        "exit_code": 1,
        "signal": None,
        "message": "OutOfMemoryError: CUDA out of memory",
        "time": 2.0,
    }
    failure["log_tail"] = ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB."]
    shown.stage("launch.gather")
    shown.stage("launch.start")
    shown.conclude("launch", "launch.announce", shown.answers("running"))
    shown.stage("collect.fetch")
    peers: dict[str, Any] = {node: {"why": "n002: a rank failed"} for node in shown.nodes}
    answers = shown.answers("stopped", **{**peers, "n002": {"phase": "failed", "why": None, "first": failure}})
    shown.conclude("launch", "collect.report", answers)


def test_status(shown: Screen) -> None:
    slow = {"progress": {"step": 400, "total_steps": 1000, "first_loss": 5.551, "loss": 1.932, "tokens_per_s": 20100.0}}
    answers = shown.answers("running", n002=slow)
    answers["n003"] = {"launch__info": {"unreachable": True, "msg": "Connection timed out"}}
    shown.stage("run_info", unreachable=("n003",))
    shown.conclude("status", "status.report", answers)


def test_stop(shown: Screen) -> None:
    going = shown.answers("running")
    for answer in going.values():
        answer["launch__info"]["runs"] = [{"run_id": RUN_ID, "alive": True, "phase": "running"}]
    shown.stage("run_info")
    shown.conclude("stop", "stop.announce", going)
    shown.stage("run_stop", changed=True)
    shown.conclude("stop", "stop.report", shown.answers("stopped"))


def test_preflight(shown: Screen) -> None:
    shown.stage("node_facts")
    _check(shown, silent=())


def test_preflight_failed(shown: Screen) -> None:
    shown.stage("node_facts", unreachable=("n003",))
    _check(shown, silent=("n003",))


def _check(shown: Screen, silent: tuple[str, ...]) -> None:
    """Print what the step `preflight.check` concludes about these nodes."""
    refused = "Failed to connect to the host via ssh: ssh: connect to host 10.99.0.3 port 22: Connection timed out"
    answers: list[Node | Silent] = []
    machines = [facts_of("hgx_h100_roce", number) for number in range(2)]
    for number, name in enumerate(shown.nodes):
        address = f"10.99.0.{number + 1}"
        if name in silent:
            answers.append(Silent(name, refused, address, message=refused))
            continue
        facts = healthy(copy.deepcopy(machines[min(number, 1)]), number)
        if silent and number == 1:
            facts["gpu"]["devices"].pop()
        answers.append(Node.from_facts(name, facts, address, []))
    launch = Launch(files={"script": ("train.py", "cluster")})
    cluster = Cluster({}, policy=ClusterPolicy(version="2.27.7"), launch=launch, received=NOW + 1.0)
    report = report_on(cluster.with_answers(answers, Users(FabricPolicy("auto", DEFAULT))))
    screen.show(["", *render(report, WIDTH), *(["", verdict(report)] if report.code else [])])
    assert bool(report.code) == bool(silent)


def test_every_file_has_a_test() -> None:
    tests = [name for name, test in globals().items() if name.startswith("test_") and "shown" in test.__annotations__]
    expected = {f"{name.removeprefix('test_')}_{size}.txt" for name in tests for size in SIZES}
    for path in sources.files("tests/unit/**/test_messages.py"):
        expected.update(re.findall(r'kept\("(.+?)"', sources.text(path)))
    assert {path.removeprefix("tests/screens/") for path in sources.files("tests/screens/**/*")} == expected
