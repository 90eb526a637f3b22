# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the list of experiments: the line of each, and their order."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.tests.support.experiments import DONE, RUN_ID, record, run


def test_the_line_of_an_experiment() -> None:
    entry = experiment.summarize(RUN_ID, experiment.dump(record(DONE)))
    assert entry == experiment.ExperimentSummary(
        run_id=RUN_ID,
        label="base",
        commit="01234567+",
        verdict="succeeded",
        loss=1.93,
        elapsed_s=31.0,
        created="2026-11-20T14:30:52Z",
        parameters={"channels": 42, "script_args": ["--lr", "3e-4"], "env": {"A": "1"}},
    )


def test_the_line_of_a_run_whose_end_is_not_known() -> None:
    going = record([run("node0", "running"), run("node1", "running")], created="2026-11-20T14:31:00Z")
    entry = experiment.summarize(RUN_ID, experiment.dump(going))
    assert (entry.verdict, entry.ended, entry.looked) == ("running", False, "2026-11-20T14:31:00Z")
    assert experiment.unseen([entry, experiment.ExperimentSummary("b", verdict="failed")]) == [entry]
    unknown = experiment.summarize(RUN_ID, "{}")
    assert (unknown.verdict, experiment.unseen([unknown])) == ("unknown", [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "unreadable: no run.yml"),
        ("- a", "unreadable run.yml: not a mapping"),
        ("a: [", "unreadable run.yml: not YAML"),
        ("parameters: [a]", "unreadable run.yml: "),
        ("parameters: {a: {value: 1}}", "unreadable run.yml: "),
        ("code: text", "unreadable run.yml: "),
    ],
)
def test_what_can_not_be_read_is_listed_all_the_same(text: str | None, problem: str) -> None:
    entry = experiment.summarize("name", text)
    assert entry.run_id == "name"
    assert entry.problem.startswith(problem)


def test_an_experiment_with_little_in_it() -> None:
    assert experiment.summarize("name", "{}") == experiment.ExperimentSummary("name", verdict="unknown")


def test_the_list_has_the_newest_last_and_then_what_has_no_date() -> None:
    entries = [
        experiment.ExperimentSummary("run_b", verdict="failed", created="2026-11-20T14:30:52Z", commit="01234567+"),
        experiment.ExperimentSummary("run_c", problem="unreadable: no run.yml"),
        experiment.ExperimentSummary(
            "run_a", verdict="succeeded", created="2026-11-20T11:00:00Z", parameters={"channels": 42}
        ),
    ]
    assert experiment.list_table(entries, 100) == [
        "run id  commit     verdict    created (UTC)     parameters",
        "run_a              succeeded  2026-11-20 11:00  channels=42",
        "run_b   01234567+  failed     2026-11-20 14:30",
        "run_c                                           unreadable: no run.yml",
    ]
    assert experiment.list_table([], 100) == []


def test_the_list_fits_its_width_a_line_for_each_run() -> None:
    arguments = ["--override", "training.steps=100", "--override", "training.lr=0.02"]
    chosen = {"channels": 42, "nproc": 2, "script_args": arguments}
    full: dict[str, Any] = {
        "label": "base",
        "commit": "01234567+",
        "verdict": "succeeded",
        "loss": 1.93,
        "elapsed_s": 751.0,
    }
    entries = [
        experiment.ExperimentSummary(RUN_ID, created="2026-11-20T14:30:52Z", parameters=chosen, **full),
        experiment.ExperimentSummary(
            RUN_ID.replace("_base", "_b"), created="2026-11-20T14:30:53Z", parameters={"channels": 42}
        ),
    ]
    # What the run id tells goes first: when it was created, its label, its channels.
    assert experiment.list_table(entries, 100) == [
        "run id                                      commit     verdict    loss  elapsed      parameters",
        "multinode_42ch_autoth_20261120_143052_base  01234567+  succeeded  1.93  12 min 31 s  nproc=2 script…",
        "multinode_42ch_autoth_20261120_143052_b                                              channels=42",
    ]
    wide = experiment.list_table(entries, 220)
    assert "label" in wide[0] and "created (UTC)" in wide[0]
    assert wide[1].endswith(f"channels=42 nproc=2 script_args=[{' '.join(arguments)}]")
    for width in (60, 80, 100, 140, 160):
        assert len(experiment.list_table(entries, width)) == 3


def test_a_label_that_is_not_in_the_run_id_stays_in_the_list() -> None:
    entries = [
        experiment.ExperimentSummary(RUN_ID, label="other", created="2026-11-20T14:30:52Z", parameters={"x": "y" * 90})
    ]
    assert "label" in experiment.list_table(entries, 100)[0]


def test_a_loss_that_is_not_finite_is_null_for_a_program() -> None:
    diverged = experiment.ExperimentSummary("name", loss=math.nan)
    assert diverged.to_dict()["loss"] is None
    assert experiment.list_table([diverged], 100)[1].split() == ["name", "nan"]
