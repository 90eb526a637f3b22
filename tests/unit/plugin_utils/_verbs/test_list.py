# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `list`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import list as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

CALL = "ANSIBLE_COLLECTIONS_PATH=/c ansible-playbook -i lab"


def listed(folder: Path, run_id: str | None = None, **settings: Any) -> Conclusion:
    request = {"run_id": run_id, "experiments": str(folder), "options": ["-i", "lab"], "call": CALL}
    return verb.report.conclusion(
        Play({**request, "parameters": {name: {"value": value} for name, value in settings.items()}})
    )


def run_ids(conclusion: Conclusion) -> list[str]:
    assert conclusion.document is not None
    return [entry["run_id"] for entry in conclusion.document["experiments"]]


def first_words(conclusion: Conclusion) -> list[str]:
    return [str(line).split()[0] for line in conclusion.lines if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("run_a", "run_b", "run_c", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "latest").symlink_to("run_a")
    (tmp_path / "file").write_text("")
    (tmp_path / "run_a" / "run.yml").write_text("{verdict: succeeded, created: b}")
    (tmp_path / "run_b" / "run.yml").write_text("{verdict: failed, created: a}")
    return tmp_path


def test_without_experiments_the_command_that_makes_one_is_shown(tmp_path: Path) -> None:
    conclusion = listed(tmp_path / "experiments")
    assert run_ids(conclusion) == []
    [line] = conclusion.lines
    assert str(line).endswith(f"{CALL} muster.train.launch")


def test_the_newest_is_last_and_what_is_not_an_experiment_is_left_out(folder: Path) -> None:
    conclusion = listed(folder)
    assert run_ids(conclusion) == ["run_b", "run_a", "run_c"]
    assert first_words(conclusion) == ["run", "run_b", "run_a", "run_c"]
    assert conclusion.document is not None
    assert [entry["verdict"] for entry in conclusion.document["experiments"]] == ["failed", "succeeded", ""]
    assert [bool(entry["problem"]) for entry in conclusion.document["experiments"]] == [False, False, True]
    assert run_ids(listed(folder, "run_b")) == ["run_b"]


def test_how_many_runs_are_not_listed(folder: Path) -> None:
    conclusion = listed(folder, where="verdict=failed")
    assert (run_ids(conclusion), conclusion.lines[-1]) == (["run_b"], "1 of 3 runs")
    assert listed(folder, where="verdict=lost").lines == ["0 of 3 runs"]


def test_a_name_that_no_run_has(folder: Path) -> None:
    with pytest.raises(UserError, match="verdikt"):
        listed(folder, where="verdikt=failed")


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ("", "ansible-playbook -i lab"),
        (", options: []", "ansible-playbook"),
        (", options: [-i, inventories/h100, -u, me]", "ansible-playbook -i inventories/h100 -u me"),
    ],
)
def test_the_next_command_reaches_the_nodes_of_the_run(folder: Path, options: str, call: str) -> None:
    looked = "looked: '2026-11-20T14:31:00Z'"
    (folder / "run_b" / "run.yml").write_text(f"{{verdict: running, created: a, {looked}{options}}}")
    last = str(listed(folder, "run_b").lines[-1])
    assert last.endswith(f"ANSIBLE_COLLECTIONS_PATH=/c {call} muster.train.collect -e run_id=run_b")


def test_csv_replaces_what_people_read(folder: Path) -> None:
    rows = csv.DictReader(io.StringIO(listed(folder, output="csv", where="verdict=failed").output))
    assert [row["run_id"] for row in rows] == ["run_b"]


def test_the_document(folder: Path) -> None:
    conclusion = listed(folder, output="json", sort="-created")
    assert conclusion.document is not None
    assert (conclusion.document["folder"], conclusion.document["sweeps"], conclusion.output) == (str(folder), [], None)
    assert run_ids(conclusion) == ["run_a", "run_b", "run_c"]


@needs_root
def test_experiments_of_another_user_cannot_be_read() -> None:
    with open_folder() as folder:
        (folder / "experiments").mkdir(mode=0o700)

        def refused() -> str:
            with pytest.raises(UserError) as caught:
                listed(folder / "experiments")
            return str(caught.value)

        assert f"{folder}/experiments" in as_nobody(refused)
