# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_list`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.action import run_list
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.tests.support.actions import result_of
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

Run = Callable[..., tuple[list[str], dict[str, Any]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the action; returns the printed lines and the result."""
    monkeypatch.setattr(run_list, "WIDTH", 100)

    def run(run_id: str | None = None, **settings: Any) -> tuple[list[str], dict[str, Any]]:
        printed: list[str] = []
        monkeypatch.setattr(screen, "display", MagicMock(display=lambda text, **_options: printed.append(text)))
        request: dict[str, Any] = {
            "run_id": run_id,
            "experiments": str(tmp_path / "experiments"),
            "options": ["-i", "lab"],
        }
        request["call"] = "ANSIBLE_COLLECTIONS_PATH=/c ansible-playbook -i lab"
        request["parameters"] = {name: {"value": value} for name, value in settings.items()}
        task = MagicMock(args={"request": request}, async_val=0, check_mode=False)
        action = run_list.ActionModule(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        return printed, result_of(action, {"groups": {}, "hostvars": {}})

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "experiments"
    for name in ("run_a", "run_b", "run_c", ".hidden"):
        (folder / name).mkdir(parents=True)
    (folder / "latest").symlink_to("run_a")
    (folder / "file").write_text("")
    (folder / "run_a" / "run.yml").write_text("{verdict: succeeded, created: b}")
    (folder / "run_b" / "run.yml").write_text("{verdict: failed, created: a}")
    return folder


def first_words(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines if line]


def test_without_experiments_the_command_that_makes_one_is_printed(run: Run, tmp_path: Path) -> None:
    assert run()[0] == [
        f"no experiments in {tmp_path}/experiments; to make one: "
        "ANSIBLE_COLLECTIONS_PATH=/c ansible-playbook -i lab muster.train.launch"
    ]


def test_the_newest_is_last_and_what_is_not_an_experiment_is_left_out(run: Run, folder: Path) -> None:
    printed, result = run()
    assert first_words(printed) == ["run", "run_b", "run_a", "run_c"]
    assert [entry["run_id"] for entry in result["experiments"]] == ["run_b", "run_a", "run_c"]
    assert [entry["verdict"] for entry in result["experiments"]] == ["failed", "succeeded", ""]
    assert result["experiments"][2]["problem"] == "unreadable: no run.yml"
    assert first_words(run("run_b")[0]) == ["run", "run_b"]


def test_how_many_runs_are_not_listed(run: Run, folder: Path) -> None:
    printed, result = run(where="verdict=failed")
    assert printed[-1] == "1 of 3 runs"
    assert [entry["run_id"] for entry in result["experiments"]] == ["run_b"]
    assert run(where="verdict=lost")[0] == ["0 of 3 runs"]


def test_a_name_that_no_run_has(run: Run, folder: Path) -> None:
    assert run(where="verdikt=failed")[1]["msg"].startswith(
        "where: no run has 'verdikt'; did you mean 'verdict'? runs have channels, cluster, "
    )


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ("", "ansible-playbook -i lab"),
        (", options: []", "ansible-playbook"),
        (", options: [-i, inventories/h100, -u, me]", "ansible-playbook -i inventories/h100 -u me"),
    ],
)
def test_the_next_command_reaches_the_nodes_of_the_run(run: Run, folder: Path, options: str, call: str) -> None:
    looked = "looked: '2026-11-20T14:31:00Z'"
    (folder / "run_b" / "run.yml").write_text(f"{{verdict: running, created: a, {looked}{options}}}")
    printed = run("run_b")[0]
    assert "running?" in printed[1]
    assert printed[2:] == [
        "",
        "as last seen, at 2026-11-20 14:31 UTC; to update it: "
        f"ANSIBLE_COLLECTIONS_PATH=/c {call} muster.train.collect -e run_id=run_b",
    ]


def test_a_program_reads_csv_or_json_and_nothing_else(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents: list[str] = []
    monkeypatch.setattr(run_list, "print_document", documents.append)
    assert run(output="csv", where="verdict=failed")[0] == []
    assert [row["run_id"] for row in csv.DictReader(io.StringIO(documents[0]))] == ["run_b"]
    monkeypatch.setattr(run_list.ActionModule, "is_document_requested", True)
    result = run(output="json", sort="-created")[1]
    assert result["verb_document"] == {"folder": str(folder), "experiments": result["experiments"], "sweeps": []}
    assert [entry["run_id"] for entry in result["experiments"]] == ["run_a", "run_b", "run_c"]


@needs_root
def test_experiments_of_another_user_are_said_to_be_unreadable() -> None:
    with open_folder() as folder:
        (folder / "experiments").mkdir(mode=0o700)

        def refused() -> str:
            with pytest.raises(UserError) as caught:
                run_list._experiments(folder / "experiments")
            return str(caught.value)

        assert as_nobody(refused) == (
            f"the controller: {folder}/experiments cannot be read, because it or a directory above it belongs to "
            "another user: run the command as that user, or set launch_experiments_dir to the directory of your own "
            "experiments"
        )
