# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/stage.py in a project of its own: what it counts, what it runs again, and what it keeps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# test_flaky fails the first time; the file .count shows how often it ran.
FLAKY = """
from pathlib import Path

def test_good():
    pass

def test_flaky():
    count = Path(__file__).with_suffix(".count")
    count.write_text(count.read_text() + "x" if count.exists() else "x")
    print("this is run", len(count.read_text()))
    assert len(count.read_text()) > 1, "too early"
"""
BAD = "def test_bad():\n    assert 1 == 2\n"
# Fails, and cannot run any more, as without the engine that it needs.
LOST = """
import pytest
from pathlib import Path

def test_lost():
    count = Path(__file__).with_suffix(".count")
    if count.exists():
        pytest.skip("the engine is gone")
    count.write_text("x")
    raise OSError("the engine does not answer")
"""
# As the gate has them.
WORKERS = ("--numprocesses=2", "--dist=loadscope")


class Project:
    """A checkout with the tool and a few tests."""

    def __init__(self, home: Path, files: dict[str, str]) -> None:
        self.home = home
        (home / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "stage.py", home / "tools")
        for name, text in files.items():
            path = home / "tests" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def stage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        command = [sys.executable, "tools/stage.py", *arguments]
        return subprocess.run(
            command, cwd=self.home, env={**kept, "PATH": path}, capture_output=True, text=True, check=False
        )

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.home / ".cache" / "stages.jsonl").read_text().splitlines()]


def counts(record: dict[str, Any]) -> tuple[int, int, int, list[str]]:
    return record["code"], record["passed"], record["failed"], record["flaky"]


def test_a_test_of_a_whole_run_that_passes_alone_is_flaky(tmp_path: Path) -> None:
    project = Project(tmp_path, {"integration/test_run.py": FLAKY})
    done = project.stage("run", "gate", "pytest", "tests")
    assert done.returncode == 0, done.stdout
    name = "tests/integration/test_run.py::test_flaky"
    assert [counts(record) for record in project.records()] == [(0, 2, 0, [name])]
    lines = done.stdout.splitlines()
    assert lines.index(f"flaky: {name}, AssertionError: too early") < len(lines) - 2
    assert " 1 passed" in lines[-2], "the runner's own summary"
    assert lines[-1].startswith("stage gate at ")
    [kept] = (tmp_path / ".cache" / "flaky").iterdir()
    first, second = ((kept / name).read_text() for name in ("first.log", "second.log"))
    assert first.startswith("failed\nAssertionError: too early")
    assert "this is run 1" in first
    assert second.startswith("passed\n")
    assert "this is run 2" in second


@pytest.mark.parametrize(
    ("files", "expected", "runs"),
    [
        ({"integration/test_run.py": FLAKY, "integration/test_bad.py": BAD}, (1, 2, 1, 1), 2),
        ({"integration/test_run.py": FLAKY, "unit/test_bad.py": BAD}, (1, 1, 2, 0), 1),
        ({"unit/test_run.py": FLAKY}, (1, 1, 1, 0), 1),
        ({"integration/test_lost.py": LOST}, (1, 0, 1, 0), 1),
        ({"integration/test_run.py": FLAKY, "unit/test_broken.py": "import nothing"}, (1, 1, 2, 0), 1),
    ],
    ids=["fails twice", "beside a unit test", "unit tests", "skipped the second time", "not collected"],
)
def test_a_failure_is_a_failure(tmp_path: Path, files: dict[str, str], expected: tuple[int, ...], runs: int) -> None:
    project = Project(tmp_path, files)
    done = project.stage("run", "gate", "pytest", *WORKERS, "tests")
    [record] = project.records()
    code, passed, failed, flaky = counts(record)
    assert (code, passed, failed, len(flaky)) == (done.returncode, *expected[1:]) == expected, done.stdout
    assert sum(len(path.read_text()) for path in tmp_path.rglob("*.count")) == runs


def test_any_command_is_a_stage_and_each_shows_when_it_last_passed(tmp_path: Path) -> None:
    project = Project(tmp_path, {})
    codes = [project.stage("run", name, name).returncode for name in ("true", "false", "true")]
    assert codes == [0, 1, 0]
    assert [counts(record)[:3] for record in project.records()] == [(0, 1, 0), (1, 0, 1), (0, 1, 0)]
    passed, never, failed, other = project.stage("show", "true", "false", "other").stdout.splitlines()
    assert passed.startswith(project.records()[2]["time"])
    assert never.split() == ["never", "passed", "here", "stage", "false"]
    assert "its last run: stage false" in failed
    assert other.split() == ["never", "passed", "here", "stage", "other"]
