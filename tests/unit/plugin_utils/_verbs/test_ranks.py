# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks each node has: by the plan that is here, by the head's, or by what the nodes report."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._verbs import ranks
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, HostSession
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of

PLAN = json.dumps({"run_id": RUN_ID, "nodes": ["node1", "node0"], "nproc": 2, "nonce": "a" * 32})
Module = Callable[[str, Mapping[str, Any]], dict[str, Any]]


def part(text: str, digest: str | None = None) -> dict[str, Any]:
    """The answer of `run_file`."""
    data = text.encode()
    return {
        "content": base64.b64encode(data).decode(),
        "sha256": digest or hashlib.sha256(data).hexdigest(),
        "last": True,
    }


def _answer(answer: dict[str, Any], _module: str, _options: Mapping[str, Any]) -> dict[str, Any]:
    return answer


def read(home: Path, run_module: Module | None = None, **of_head: Any) -> Conclusion:
    hosts: dict[str, dict[str, Any]] = {node: info(node, "succeeded", nnodes=2) for node in ("node0", "node1")}
    hosts["node0"].update(of_head)
    play = play_of("collect", hosts, experiments=str(home))
    return ranks.read.conclusion(dataclasses.replace(play, host=HostSession(run_module)) if run_module else play)


def first_ranks(conclusion: Conclusion) -> dict[str, int]:
    return {node: part["first_rank"] for node, part in conclusion.result["parts"].items()}


def test_the_plan_of_the_experiment(tmp_path: Path) -> None:
    (tmp_path / RUN_ID).mkdir()
    (tmp_path / RUN_ID / "plan.json").write_text(PLAN)
    conclusion = read(tmp_path)
    assert first_ranks(conclusion) == {"node1": 0, "node0": 2}
    assert (conclusion.result["by_plan"], conclusion.files, conclusion.warnings) == (True, [], [])


def test_the_plan_of_another_launch(tmp_path: Path) -> None:
    (tmp_path / RUN_ID).mkdir()
    (tmp_path / RUN_ID / "plan.json").write_text(PLAN)
    other = info("node0", "succeeded", nonce="b" * 32)
    [warning] = read(tmp_path, **other).warnings
    assert "plan.json" in warning


def test_the_heads_plan_is_read_below_its_workdir_and_kept(tmp_path: Path) -> None:
    asked = []

    def run_module(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        asked.append((name, options["workdir"], options["node"], options["path"]))
        return part(PLAN)

    conclusion = read(tmp_path, run_module, launch_workdir="/own/w")
    assert asked == [("run_file", "/own/w", "node0", "plan.json")]
    assert [(file.path, file.text, file.is_private) for file in conclusion.files] == [
        (tmp_path / RUN_ID / "plan.json", PLAN, True)
    ]
    assert (first_ranks(conclusion), conclusion.result["by_plan"]) == ({"node1": 0, "node0": 2}, True)


def test_without_a_plan_the_nodes_say_which_ranks_they_have(tmp_path: Path) -> None:
    answers = [
        {"unreachable": True, "msg": "gone"},
        {"failed": True, "msg": "gone"},
        part(PLAN, digest="0" * 64),
    ]
    for answer in answers:
        conclusion = read(tmp_path, partial(_answer, answer))
        assert (first_ranks(conclusion), conclusion.result["by_plan"]) == ({"node0": 0, "node1": 2}, False)
        [warning] = conclusion.warnings
        assert "node0" in warning
