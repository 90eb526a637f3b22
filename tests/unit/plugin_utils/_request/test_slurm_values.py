# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user gives Slurm."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request import slurm_values
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.tests.support.requests import inventory, make

LAUNCH = {"nnodes": 4, "script": "train.py"}


def values(**given: Any) -> dict[str, Any]:
    request = make({**LAUNCH, **given}, verb="submit", nodes=inventory(), of_slurm=["slurm.yml"])
    return {name: setting["value"] for name, setting in request["parameters"].items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", "1:30:00"),
        ("8h", "8:00:00"),
        ("2d", "2-00:00:00"),
        ("8:00:00", "8:00:00"),
        ("2-00:30:00", "2-00:30:00"),
        ("48:00:00", "2-00:00:00"),
    ],
)
def test_a_time_is_written_as_slurm_does(text: str, expected: str) -> None:
    assert values(time=text)["time"] == expected


@pytest.mark.parametrize("text", ["90", "30s", "8:00", "0m", "-1:00:00", "2-", "1d2h", ""])
def test_a_time_that_may_mean_another_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        slurm_values.read_time(text)


@pytest.mark.parametrize(
    "given",
    [
        {"partition": "two words"},
        {"partition": "-gpu"},
        {"account": "a'b"},
        {"constraint": "$(reboot)"},
        {"exclude": "gpu01;reboot"},
        {"sbatch_options": ["-N", "4"]},
        {"sbatch_options": ["mem"]},
        {"sbatch_options": ["--job-name=mine"]},
        {"sbatch_options": ["--clusters=other"]},
        {"sbatch_options": ["--out=x"]},
        {"sbatch_options": ["--wrap=reboot"]},
        {"sbatch_options": ["--comment=two\nlines"]},
        {"gpus": 8, "gres": "gpu:h100:8"},
        {"nnodes": None},
        {"script": None},
        {"wait": "1h"},
        {"follow": False},
    ],
)
def test_what_a_job_cannot_have_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        values(**given)
    [line] = str(refused.value).splitlines()
    assert line.startswith((*given, "gres"))


def test_expressions_and_options_of_slurm_are_kept() -> None:
    given = {
        "partition": "gpu,gpu-long",
        "constraint": "[rack1|rack2]&ib*2",
        "exclude": "gpu[01-03,7]",
        "gres": "gpu:h100:8,tmp:1G",
        "sbatch_options": ["--mem=0", "--mail-type=END", "--time-min=1:00:00", "--comment=two words", "--no-requeue"],
    }
    known = values(**given)
    assert {name: known[name] for name in given} == given


def test_a_submission_has_a_run_id_and_needs_no_nodes_of_the_inventory() -> None:
    request = make({**LAUNCH, "label": "first"}, verb="submit", nodes=inventory(), of_slurm=["slurm.yml"])
    assert request["run_id"] == "train_20261120_143052_first_0000"
    # Those of an allocation in which it is typed are not its own.
    assert (
        make({**LAUNCH, "nnodes": 8}, verb="submit", nodes=inventory("n0"), of_slurm=["slurm.yml"])["parameters"][
            "nnodes"
        ]["value"]
        == 8
    )


def test_a_job_is_launched_on_its_own_nodes_and_no_others() -> None:
    with pytest.raises(InvalidRequest) as refused:
        make(LAUNCH, verb="submit", nodes=inventory("n0"))
    [line] = str(refused.value).splitlines()
    assert line.startswith("inventory: ")
