# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of a run out of any JSON: none raises, and what they hold can be sorted, printed and sent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_rank, likeliest_first
from ansible_collections.muster.train.plugins.module_utils._records.document import MOST_LINES, MOST_TEXT
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import (
    EndedAttempt,
    GangSummary,
    Heartbeat,
    JobOwner,
    NodeReport,
    Progress,
    RunRecord,
    RunWarning,
    StopRequest,
)
from ansible_collections.muster.train.plugins.module_utils._runs.read import judge
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of, utc
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.progress import parse_last
from ansible_collections.muster.train.plugins.plugin_utils._results import verdict
from ansible_collections.muster.train.plugins.plugin_utils._results.progress import read_sample

RECORDS = (RunRecord(), GangSummary(), EndedAttempt(), RunWarning(), NodeReport(), Heartbeat())
NAMES = sorted({*(name for record in RECORDS for name in record.to_dict()), "grace", "container", "first"})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["running", "failed", "lost", "2026-11-20T14:30:52Z", "\ud800", "SIGTERM"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
# Of each draw so many documents are made: 4 tests of 63 draws see 10,080 documents within seconds.
DOCUMENTS_PER_DRAW = 40
DRAWS = settings(max_examples=63, deadline=None, database=None, suppress_health_check=list(HealthCheck))
POOLS = st.lists(VALUES, min_size=4, max_size=8)
SEEDS = st.integers(0, 1 << 32)


def documents(pool: list[Any], seed: int) -> Iterator[Any]:
    """Make documents of a pool of values: the values themselves, then objects with them below known names."""
    turn = random.Random(seed)
    for number in range(DOCUMENTS_PER_DRAW):
        names = turn.sample(NAMES, turn.randint(1, 12))
        yield pool[number] if number < len(pool) else {name: turn.choice(pool) for name in names}


@pytest.mark.slow
@DRAWS
@given(POOLS, SEEDS)
def test_any_state(pool: list[Any], seed: int) -> None:
    for document in documents(pool, seed):
        run = RunRecord.from_dict(parse_json(json.dumps(document)))
        assert RunRecord.from_dict(run.to_dict()).to_dict().keys() == run.to_dict().keys()
        judge(run, True, False, "boot")
        likeliest_first(judge_rank(rank, run.failures) for rank in run.failures)
        other = RunRecord(node="node1", phase="running", created="2026-11-20T14:30:52Z")
        json.dumps(verdict.judge([run, other]).to_dict())


@pytest.mark.slow
@DRAWS
@given(POOLS, SEEDS)
def test_any_stop_file(pool: list[Any], seed: int) -> None:
    for document in documents(pool, seed):
        request = StopRequest.from_dict(document)
        assert request.grace is None or isinstance(request.grace, (int, float))
        assert isinstance(JobOwner.from_dict(document).container, bool)


@pytest.mark.slow
@DRAWS
@given(POOLS, SEEDS)
def test_any_heartbeat(pool: list[Any], seed: int) -> None:
    for document in documents(pool, seed):
        beat = Heartbeat.from_dict(document)
        assert beat.count >= 0
        assert beat.log_dropped >= 0
        read_sample(json.dumps({"phase": "running"}), json.dumps(document))


@pytest.mark.slow
@DRAWS
@given(POOLS, SEEDS)
def test_any_metrics(pool: list[Any], seed: int) -> None:
    for document in documents(pool, seed):
        last = parse_last(f"noise\n{json.dumps(document)}\n[\n")
        assert isinstance(last, Progress) == isinstance(document, dict)


@pytest.mark.parametrize("step", ["1e308", "-1", "NaN", "Infinity", "9" * 30, "true", '"7"'])
def test_a_number_that_is_none_of_steps_is_not_known(step: str) -> None:
    last = parse_last(f'{{"step": {step}, "total_steps": {step}, "loss": 2.5}}\n')
    assert last == Progress(loss=2.5)


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "1" * 5000, "", None, "{", b"\xff", "NaN x"])
def test_a_text_that_is_not_json_is_none(text: str | bytes | None) -> None:
    assert parse_json(text) is None or isinstance(parse_json(text), int)


def test_long_values_are_cut() -> None:
    run = RunRecord.from_dict(
        {"why": "x" * 9999, "log_tail": list(map(str, range(999))), "gang": {"reports": [{}] * 99}}
    )
    assert (len(run.why or ""), len(run.log_tail), run.log_tail[-1]) == (MOST_TEXT, MOST_LINES, "998")
    assert run.gang is not None
    assert len(run.gang.reports) < 99


def test_a_stamp_and_its_seconds() -> None:
    assert seconds_of(utc(1795185052)) == 1795185052
    for odd in (None, 5, "", "yesterday", "2026-13-20T14:30:52Z", "2026-11-20 14:30:52", ["x"]):
        assert seconds_of(odd) is None
