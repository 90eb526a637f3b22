# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory expects of an acceptance, read whole or refused; and the examples with published figures."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import StageThreshold, read_profile
from ansible_collections.muster.train.tests.support.play import ROOT

EXAMPLES = sorted((ROOT / "examples" / "acceptance").glob("*.yml"))
GOOD = {"busbw_gb_per_s": 440, "source": "the contract"}


def test_a_profile_is_read() -> None:
    both = {"busbw_gb_per_s": 1.5, "of_limit": 0.8, "max_bytes": "8G", "source": " a page "}
    assert read_profile({"intra": GOOD, "all": both}) == {
        "intra": StageThreshold("the contract", 440.0),
        "all": StageThreshold("a page", 1.5, 0.8, 8 << 30),
    }
    assert read_profile({}) == {}


@pytest.mark.parametrize(
    "raw",
    [
        [],
        {"inter": GOOD},
        {"preflight": GOOD},
        {"intra": 440},
        {"intra": {"busbw_gb_per_s": 440}},
        {"intra": {"busbw_gb_per_s": 440, "source": " "}},
        {"intra": {"source": "the contract"}},
        {"intra": {**GOOD, "busbw": 440}},
        {"intra": {**GOOD, "busbw_gb_per_s": "440 GB/s"}},
        {"intra": {**GOOD, "busbw_gb_per_s": 0}},
        {"intra": {**GOOD, "busbw_gb_per_s": True}},
        {"intra": {**GOOD, "of_limit": 80}},
        {"intra": {**GOOD, "of_limit": float("nan")}},
        {"intra": {**GOOD, "max_bytes": "8T"}},
    ],
)
def test_what_is_wrong_is_refused(raw: Any) -> None:
    with pytest.raises(PlanError) as caught:
        read_profile(raw)
    assert [finding.check for finding in caught.value.findings] == ["launch_acceptance"]


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        read_profile({"inter": GOOD, "rails": {"of_limit": 80}, "all": GOOD})
    assert len(caught.value.findings) == 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_the_examples_have_a_published_source_for_each_figure(path: Any) -> None:
    thresholds = read_profile(yaml.safe_load(path.read_text())["launch_acceptance"])
    assert set(thresholds) == {"intra", "rails", "all"}
    for threshold in thresholds.values():
        # The address names the commit, so that the figure is still there.
        assert "https://github.com/" in threshold.source and "/blob/" in threshold.source


def test_there_are_two_examples() -> None:
    assert [path.stem for path in EXAMPLES] == ["h100x8_ib", "mi300x8"]
