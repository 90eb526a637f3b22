# SPDX-License-Identifier: GPL-3.0-or-later
"""Every defect of this folder, planted in a copy of the checkout, fails a test of the gate. `make mutations-gate`.

Each patch begins with the defect and the tests that find it. A test that the gate leaves out does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.mutations import DEFECTS, Defect
from ansible_collections.muster.train.tools.sanity import copy_checkout
from ansible_collections.muster.train.tools.stage import read_report

# The tests that `make test` selects.
GATE = "unit or gate"
TIMEOUT_S = 600
PASSED, FAILED = 0, 1  # pytest's exit codes; 2 to 5 mean that it could not run the tests, or had none to run
REPORT = "report.xml"
# How a test's own exception begins; any other one means that the defect does not even run.
ASSERTIONS = ("assert", "AssertionError", "Failed: DID NOT RAISE")


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory with a short path, for the sockets of end-to-end tests."""
    with tempfile.TemporaryDirectory(prefix="muster-gate-") as place:
        yield Path(place)


def play(home: Path, tests: Iterable[str], patch: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run tests of the gate in a copy of the checkout, with a defect or without one."""
    checkout = home / "checkout"
    checkout.mkdir()
    copy_checkout(checkout)
    if patch is not None:
        subprocess.run(["git", "apply", str(patch)], cwd=checkout, check=True)
    options = ["-m", GATE, "-p", "no:cacheprovider", f"--basetemp={home / 'tests'}", f"--junit-xml={home / REPORT}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=checkout,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_the_tests_pass_without_a_defect(home: Path) -> None:
    done = play(home, dict.fromkeys(test for defect in DEFECTS for test in defect.found_by))
    assert done.returncode == PASSED, done.stdout


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: str(defect.name))
def test_the_gate_finds_a_defect(defect: Defect, home: Path) -> None:
    done = play(home, defect.found_by, defect.path)
    assert done.returncode == FAILED, done.stdout
    failures = {name: case.text for name, case in read_report(home / REPORT).items() if case.outcome == "failed"}
    assert {name.partition("[")[0] for name in failures} == set(defect.found_by), done.stdout
    assert all(text.startswith(ASSERTIONS) for text in failures.values()), done.stdout
