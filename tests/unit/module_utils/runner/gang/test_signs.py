# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head keeps of the signs of life that members send, forged ones too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gang import (
    DRAINED,
    EXITED,
    JOINED,
    MAX_SIGN_BYTES,
    RUNNING,
    NodesDocument,
    NodeSign,
    older,
)
from ansible_collections.muster.train.plugins.module_utils._records.layout import NODES
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunWarning
from ansible_collections.muster.train.plugins.module_utils.runner.gang.frames import AUTHENTICATED_BYTES
from ansible_collections.muster.train.plugins.module_utils.runner.gang.ranks import GangNode
from ansible_collections.muster.train.plugins.module_utils.runner.gang.signs import Signs
from ansible_collections.muster.train.plugins.module_utils.runner.state import State

FOREIGN: list[Any] = [None, 1, "x", [], [{}], {"phase": 7}, {"progress": "x"}, {"pids": [None, "1", 2.5, 1 << 70]}]


def nodes(*states: str) -> list[GangNode]:
    return [GangNode(f"n{number}", number, state) for number, state in enumerate(states)]


def sign(step: float, elapsed_s: float = 100.0, **more: Any) -> dict[str, Any]:
    data = {"phase": "running", "attempt": 0, "elapsed_s": elapsed_s, "progress": {"step": step}}
    return {**data, "step_age_s": 0.0, "line_age_s": 5.0, **more}


@pytest.mark.parametrize("foreign", FOREIGN, ids=repr)
def test_what_a_member_sends_is_read_as_a_sign_or_not_at_all(foreign: Any) -> None:
    signs = Signs(nproc=8)
    signs.note(1, foreign, foreign, now=0.0)
    document = json.loads(json.dumps({"nonce": "a", "nodes": signs.statuses(nodes(RUNNING, RUNNING), 1.0)}))
    (_head, status) = NodesDocument.from_dict(document).nodes
    assert (status.node, status.state, status.stalled_s in (0, 1)) == ("n1", RUNNING, True)
    assert status.sign is None or isinstance(status.sign, NodeSign)
    signs.pace(nodes(RUNNING, RUNNING), 0, 1.0)


def test_the_last_sign_counts_and_grows_older() -> None:
    signs = Signs(nproc=8)
    for step in (1, 2):
        signs.note(1, sign(step), None, now=10.0)
    statuses = signs.statuses(nodes(RUNNING, RUNNING), now=14.0)
    document = NodesDocument.from_dict({"nodes": statuses})
    last = older(document.nodes[1], 0.0).sign
    assert last is not None
    assert (last.progress, last.elapsed_s, last.step_age_s, last.line_age_s) == (Progress(step=2), 104.0, 4.0, 9.0)
    later = older(document.nodes[1], 3.0)
    assert later.sign is not None
    assert (later.heard_s, later.sign.elapsed_s, later.sign.step_age_s) == (17.0, 107.0, 7.0)


def test_how_a_part_ended_and_that_its_runner_has_exited() -> None:
    signs, gang = Signs(nproc=8), nodes(RUNNING, DRAINED, JOINED)
    gang[1].report = {"phase": "failed", "why": "it broke", "exit_code": 7, "signal": None, "stuck": True}
    signs.note_drained(1)
    signs.note_exit(1)
    document = NodesDocument.from_dict({"nodes": signs.statuses(gang, now=1.0)})
    ended = document.nodes[1]
    assert (ended.state, ended.phase, ended.why, ended.exit_code, ended.stuck) == (
        EXITED,
        "failed",
        "it broke",
        7,
        True,
    )
    assert ended.ended is not None
    assert document.nodes[2].ended is None


def test_the_slowest_node() -> None:
    signs, gang = Signs(nproc=8), nodes(RUNNING, RUNNING, RUNNING)
    assert signs.pace(gang, 0, now=0.0) is None
    for now in range(0, 100, 2):
        for number, step in enumerate((4 * now, 4 * now, 2 * now)):
            signs.note(number, sign(step), None, now=now)
        pace = signs.pace(gang, 0, now=now)
    assert pace is not None
    assert (pace.slowest, pace.rank, pace.step, pace.behind) == ("n2", 16, 196, 0.5)
    assert (pace.step_age_s, pace.line_age_s) == (0.0, 5.0)
    assert signs.pace(gang, 1, now=98.0) is None, "these are signs of the attempt before"


@pytest.mark.parametrize(("steps_per_s", "every"), [(4.0, 1), (4.0, 5), (0.03, 1), (500.0, 100)])
def test_nodes_that_keep_step_are_not_behind(steps_per_s: float, every: int) -> None:
    """Signs are up to two seconds old, the numbers in them three, and a program reports every few steps only."""
    signs, gang = Signs(nproc=8), nodes(RUNNING, RUNNING)
    for tick in range(200):
        for number, late in enumerate((1.0, 3.0)):
            if (tick + number) % 2 == 0:
                step = steps_per_s * max(0.0, tick - late) // every * every
                signs.note(number, sign(step), None, now=tick)
        pace = signs.pace(gang, 0, now=tick)
        assert pace is None or pace.behind in (None, 0)


def test_a_node_that_stays_at_its_first_step_is_behind() -> None:
    signs, gang = Signs(nproc=8), nodes(RUNNING, RUNNING)
    signs.note(1, sign(1), None, now=0.0)
    for now in range(0, 40, 2):
        signs.note(0, sign(now), None, now=now)
        pace = signs.pace(gang, 0, now=now)
    assert pace is not None
    assert (pace.slowest, pace.behind) == ("n1", 0.974)


def test_a_node_without_ranks_and_steps_that_are_no_numbers_do_not_count() -> None:
    signs, gang = Signs(nproc=8), nodes(RUNNING, RUNNING, RUNNING)
    gang[2].rank = None
    signs.note(1, sign(float("nan")), None, now=0.0)
    signs.note(2, sign(1), None, now=0.0)
    pace = signs.pace(gang, 0, now=0.0)
    assert pace is not None
    assert (pace.slowest, pace.behind) == (None, None)


def test_a_sign_fits_into_a_frame() -> None:
    many = list(range(1_000_000, 1_001_024))
    data = NodeSign(phase="running", why="x" * 300, pids=many, ranks=many, progress=Progress(1, 2, 3)).to_short_dict()
    assert len(json.dumps(data)) < MAX_SIGN_BYTES < AUTHENTICATED_BYTES
    assert (data.get("pids"), data["phase"], data["progress"]["step"]) == (None, "running", 1)
    few = NodeSign(phase="running", pids=[1, 2]).to_short_dict()
    assert few["pids"] == [1, 2]


def test_a_sign_that_is_nested_deeper_than_python_writes_costs_only_the_document(tmp_path: Path) -> None:
    nested: list[Any] = []
    for _level in range(5000):
        nested = [nested]
    signs = Signs(nproc=1)
    signs.note(1, {"pids": nested}, None, now=0.0)
    state = State(str(tmp_path), {"nonce": "a"})
    state.write_nodes(signs.statuses(nodes(RUNNING, RUNNING), 1.0))
    assert not (tmp_path / NODES).exists()
    signs.note(1, sign(1), None, now=1.0)
    state.write_nodes(signs.statuses(nodes(RUNNING, RUNNING), 1.0))
    assert NodesDocument.from_dict(json.loads((tmp_path / NODES).read_text())).nonce == "a"


def test_ranks_that_raised_and_have_not_ended_are_known_of_all_nodes() -> None:
    signs = Signs(2)
    raised = RunWarning("raised", "n1", "2026-11-20T14:03:22Z", 3, "ValueError: x")
    signs.note(0, sign(5, warnings=[{"kind": "disk_full", "node": "n0"}]), None, 1.0)
    signs.note(1, sign(5, warnings=[raised.to_dict(), "x", {"kind": 7}]), None, 1.0)
    assert signs.raised() == [raised]
    signs.note(1, sign(6), None, 2.0)
    assert signs.raised() == []
