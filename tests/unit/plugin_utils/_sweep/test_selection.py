# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of single runs that are compared as the points of a sweep."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import select, summarize
from ansible_collections.muster.train.plugins.plugin_utils._sweep.selection import Selection, select_points

RUNS = {
    # Launched, the older last; of the same values is one that has failed.
    "new_b": {"channels": 56, "threads": 512, "loss": 2.0, "created": "2026-11-20T14:31:00Z"},
    "new_a": {"channels": 28, "threads": 512, "loss": 2.5, "created": "2026-11-20T14:30:00Z"},
    "new_c": {"channels": 56, "threads": 512, "verdict": "failed", "created": "2026-11-20T14:32:00Z"},
    "goes_on": {"channels": 42, "threads": 256, "verdict": "running", "created": "2026-11-20T14:33:00Z"},
    # Imported, a year earlier.
    "old": {"channels": 28, "threads": 256, "loss": 3.0, "created": "2025-12-19T14:07:15Z", "layer": "earlier"},
    "half": {"channels": 28, "loss": 1.0, "created": "2025-12-19T14:08:15Z"},
}


def text_of(known: dict[str, Any]) -> str:
    """Return the `run.yml` of a run."""
    layer = known.get("layer", "extra_vars")
    parameters = {
        name: {"value": known[name], "origin": name, "layer": layer}
        for name in ("channels", "threads")
        if name in known
    }
    verdict = known.get("verdict", "succeeded")
    loss = {"last": known["loss"]} if "loss" in known else None
    return yaml.safe_dump(
        {"verdict": verdict, "why": verdict, "loss": loss, "created": known["created"], "parameters": parameters}
    )


def selected(*names: str, texts: dict[str, str] | None = None) -> Selection:
    texts = texts or {name: text_of(known) for name, known in RUNS.items()}
    entries = select([summarize(name, text) for name, text in texts.items()], (), None, None, None)
    return select_points(entries, texts, names, "loss")


def test_runs_with_the_same_values_are_repeats_the_oldest_first() -> None:
    selection = selected("threads", "channels")
    assert selection.sweep.axes == {"threads": [256, 512], "channels": [28, 42, 56]}
    assert [(point.number, point.repeat, point.run_id, point.outcome) for point in selection.sweep.points] == [
        (1, 1, "old", "succeeded"),
        (2, 1, "goes_on", "running"),
        (3, 1, "new_a", "succeeded"),
        (4, 1, "new_b", "succeeded"),
        (4, 2, "new_c", "failed"),
    ]
    assert [point.value for point in selection.sweep.points] == [3.0, None, 2.5, 2.0, None]


def test_runs_without_a_value_are_left_out() -> None:
    assert selected("channels", "threads").left_out == ["half"]
    assert selected("channels").left_out == []


def test_a_name_that_no_run_has_is_refused() -> None:
    with pytest.raises(UserError, match="channels"):
        selected("chanels")


def test_any_value_may_be_an_axis() -> None:
    assert selected("verdict").sweep.axes == {"verdict": ["failed", "running", "succeeded"]}


def test_a_damaged_record_is_left_out() -> None:
    selection = selected("channels", texts={"a": "a: [", "old": text_of(RUNS["old"])})
    assert ([point.run_id for point in selection.sweep.points], selection.left_out) == (["old"], ["a"])
