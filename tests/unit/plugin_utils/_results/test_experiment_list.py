# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the list of experiments: the line of each, and their order."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment, listing, summary
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import ExperimentSummary
from ansible_collections.muster.train.tests.support.experiments import DONE, RUN_ID, record, run


def test_the_line_of_an_experiment() -> None:
    entry = summary.summarize(RUN_ID, experiment.dump(record(DONE)))
    assert entry == ExperimentSummary(
        run_id=RUN_ID,
        label="base",
        cluster="h100",
        commit="01234567+",
        verdict="succeeded",
        loss=1.93,
        elapsed_s=31.0,
        created="2026-11-20T14:30:52Z",
        parameters={"channels": 42, "script_args": ["--lr", "3e-4"], "env": {"A": "1"}},
        values=entry.values,
        options=["-i", "inventories/h100"],
    )
    assert entry.values == {
        "run_id": RUN_ID,
        "label": "base",
        "cluster": "h100",
        "commit": "01234567+",
        "verdict": "succeeded",
        "loss": 1.93,
        "first_loss": 5.55,
        "elapsed_s": 31.0,
        "created": "2026-11-20T14:30:52Z",
        "started": "2026-11-20T14:30:53Z",
        "ended": "2026-11-20T14:31:24Z",
        "world_size": 4,
        "command": "ansible-playbook launch.yml -e channels=42",
        "fabric": "tcp",
        "step": 4,
        "channels": 42,
        "nproc": 2,
        "script_args": "--lr 3e-4",
        "env.A": "1",
    }


def test_what_a_user_writes_into_a_record_is_a_value_too() -> None:
    values = summary.summarize("x", "{accuracy: 0.9, metrics: {mfu: 41.5, loss: 7}, loss: {last: 2}}").values
    assert (values["accuracy"], values["mfu"], values["loss"]) == (0.9, 41.5, 2.0)


def test_the_line_of_a_run_whose_end_is_not_known() -> None:
    going = record([run("node0", "running"), run("node1", "running")], created="2026-11-20T14:31:00Z")
    entry = summary.summarize(RUN_ID, experiment.dump(going))
    assert (entry.verdict, entry.ended, entry.looked) == ("running", False, "2026-11-20T14:31:00Z")
    assert summary.unseen([entry, ExperimentSummary("b", verdict="failed")]) == [entry]
    unknown = summary.summarize(RUN_ID, "{}")
    assert (unknown.verdict, summary.unseen([unknown])) == ("unknown", [])


UNREADABLE = [None, "- a", "a: [", "parameters: [a]", "parameters: {a: {value: 1}}", "code: text"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_can_not_be_read_is_listed_all_the_same(text: str | None) -> None:
    entry = summary.summarize("name", text)
    assert (entry.run_id, entry.values) == ("name", {"run_id": "name"})
    assert entry.problem


def test_an_experiment_with_little_in_it() -> None:
    entry = summary.summarize("name", "{}")
    assert entry == ExperimentSummary("name", verdict="unknown", values=entry.values)


def entry(run_id: str, created: str = "", **values: Any) -> ExperimentSummary:
    """Return a run whose other values are parameters that were chosen for it."""
    fields: dict[str, Any] = {
        str(name): values.pop(name) for name in ("label", "cluster", "commit", "verdict", "loss") if name in values
    }
    known: dict[str, Any] = {"run_id": run_id, "created": created, **fields, **values}
    return ExperimentSummary(run_id, created=created, parameters=values, values=known, **fields)


RUNS = [
    entry("run_a", "2026-11-20T11:00:00Z", cluster="lab", channels=42, verdict="succeeded", loss=2.0, nproc=2),
    entry("run_b", "2026-11-20T14:30:52Z", cluster="lab", channels=8, verdict="failed", nproc=2),
    entry("run_d", "2026-11-21T14:30:52Z", cluster="lab", verdict="succeeded", loss=-1.5, nproc=2),
    ExperimentSummary("run_c", problem="unreadable: no run.yml", values={"run_id": "run_c"}),
]
# Of a condition, and of an order.
UNKNOWN_NAMES = [("chanels=42", None), (None, "chanels")]


def test_what_differs_is_a_column_and_what_does_not_is_said_once() -> None:
    assert listing.list_lines(RUNS, 100) == [
        "all 3 runs: nproc=2 cluster=lab",
        "",
        "run id  channels  verdict    loss  created (UTC)",
        "run_a   42        succeeded  2     2026-11-20 11:00",
        "run_b   8         failed           2026-11-20 14:30",
        "run_d             succeeded  -1.5  2026-11-21 14:30",
        "run_c  unreadable: no run.yml",
    ]
    assert listing.list_lines([], 100) == []
    assert listing.list_lines(RUNS[3:], 100) == ["run_c  unreadable: no run.yml"]
    assert listing.list_lines(RUNS[:1], 100)[0] == "the run: channels=42 nproc=2 cluster=lab"


def test_of_long_arguments_only_what_differs_is_shown() -> None:
    runs = [entry(f"run_{lr}", script_args=["--steps=100", f"--lr={lr}"]) for lr in ("1", "2")]
    shown = [summary.parameter_values("script_args", run.parameters["script_args"]) for run in runs]
    assert shown == [{"script_args": "--steps=100 --lr=1"}, {"script_args": "--steps=100 --lr=2"}]
    runs = [entry(f"run_{lr}", script_args=f"--steps=100 --lr={lr}") for lr in ("1", "2")]
    assert listing.list_lines(runs, 100) == ["run id  script_args", "run_1   … --lr=1", "run_2   … --lr=2"]


def test_on_a_narrow_terminal_what_the_run_ids_tell_goes_first_and_what_else_is_left_out_is_named() -> None:
    runs = [
        entry(
            f"multinode_{channels}ch_autoth_20261120_143052_base",
            "2026-11-20T14:30:52Z",
            channels=channels,
            label="base",
            config=f"{channels}/{'c' * 20}",
            other=f"{channels}-{'o' * 20}",
        )
        for channels in (8, 42)
    ]
    assert listing.list_lines(runs, 100) == [
        "all 2 runs: label=base",
        "",
        "run id                                      config                   other",
        "multinode_8ch_autoth_20261120_143052_base   8/cccccccccccccccccccc   8-oooooooooooooooooooo",
        "multinode_42ch_autoth_20261120_143052_base  42/cccccccccccccccccccc  42-oooooooooooooooooooo",
    ]
    assert listing.list_lines(runs, 80)[-1] == "they also differ in other: -e output=csv shows all of it"
    assert "channels" in listing.list_lines(runs, 160)[2].split()
    for width in (60, 80, 100, 140, 160):
        assert max(map(len, listing.list_lines(runs, width))) <= max(width, 64)


def test_a_loss_that_is_not_finite_is_null_for_a_program() -> None:
    diverged = entry("name", loss=math.nan)
    assert (diverged.to_dict()["loss"], diverged.to_dict()["values"]["loss"]) == (None, None)
    assert listing.list_lines([diverged], 100)[1].split() == ["name", "nan"]


@pytest.mark.parametrize(
    ("where", "sort", "last", "names"),
    [
        (None, None, None, ["run_a", "run_b", "run_d", "run_c"]),
        ("channels=42", None, None, ["run_a"]),
        ("verdict=succeeded,loss<0", None, None, ["run_d"]),
        ("threads=", None, None, ["run_a", "run_b", "run_d", "run_c"]),
        (None, "loss", None, ["run_d", "run_a", "run_b", "run_c"]),
        (None, "-loss", None, ["run_a", "run_d", "run_b", "run_c"]),
        (None, "-created", None, ["run_d", "run_b", "run_a", "run_c"]),
        (None, None, 2, ["run_b", "run_d"]),
        ("nproc=2", "channels", 2, ["run_b", "run_d"]),
        ("elapsed>1h", None, None, []),
    ],
)
def test_runs_are_chosen_and_sorted(where: str | None, sort: str | None, last: int | None, names: list[str]) -> None:
    assert [run.run_id for run in summary.select(reversed(RUNS), ["threads"], where, sort, last)] == names


@pytest.mark.parametrize("names", UNKNOWN_NAMES)
def test_a_name_that_no_run_has_is_refused(names: tuple[str | None, str | None]) -> None:
    with pytest.raises(UserError):
        summary.select(RUNS, [], *names, None)


def test_csv_has_a_column_for_each_value_and_no_formula() -> None:
    runs = [entry("a", channels=42, script_args="-lr=1,\n2"), entry("b", loss=-1.5, label="=1+1"), *RUNS[3:]]
    rows = list(csv.DictReader(io.StringIO(listing.to_csv(runs))))
    assert [row["run_id"] for row in rows] == ["a", "b", "run_c"]
    assert [row["channels"] for row in rows] == ["42", "", ""]
    assert (rows[0]["script_args"], rows[1]["label"], rows[1]["loss"]) == ("'-lr=1,\n2", "'=1+1", "-1.5")
    assert rows[2]["problem"] == "unreadable: no run.yml"
