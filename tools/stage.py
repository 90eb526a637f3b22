# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one stage of the tests and record how it ended (tests/README.md).

usage: stage.py run NAME COMMAND [ARGUMENT...]
       stage.py show NAME...

`run` ends with one line, which .cache/stages.jsonl keeps as data: stage, commit, passed, failed, flaky, minutes. If the
command is pytest, its tests are counted, otherwise the command itself. Tests of whole runs that failed run once more,
alone, after all others. One that passes then is flaky: the stage succeeds, and .cache/flaky has what both runs printed.
Unit tests are never run twice. `show` prints when each stage last passed.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
RECORDS = CACHE / "stages.jsonl"
# The exit code of pytest if tests failed and nothing else went wrong.
TESTS_FAILED = 1


@dataclass(frozen=True)
class Result:
    """How a stage ended; `flaky` are tests that passed in their second run only."""

    stage: str
    commit: str
    time: str
    minutes: float
    code: int
    passed: int = 0
    failed: int = 0
    flaky: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {len(self.flaky)} flaky, {self.minutes} min"
        # Of pytest, an exit code above 1 means that it did not run all tests.
        aborted = f", exit code {self.code}" if self.code and not self.failed else ""
        return f"stage {self.stage} at {self.commit}: {counts}{aborted}"


@dataclass(frozen=True)
class Tests:
    """The tests of one report: how many passed, and of each that failed what pytest wrote."""

    passed: int
    failures: dict[str, str]


def read_report(path: Path) -> Tests:
    """Read the report that pytest wrote (--junitxml); without one, there were no tests."""
    if not path.exists():
        return Tests(0, {})
    failures: dict[str, str] = {}
    names = set()
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        for problem in [*case.iter("failure"), *case.iter("error")]:
            failures[name] = f"{problem.get('message')}\n{problem.text}"
        if case.find("skipped") is None:
            names.add(name)
    return Tests(len(names - failures.keys()), failures)


def run_pytest(stage: str, command: list[str]) -> tuple[int, Tests, list[str]]:
    """Run the tests, and those of whole runs that failed once more; return the exit code, the tests and the flaky."""
    reports = [CACHE / f"{stage}.xml", CACHE / f"{stage}.again.xml"]
    for report in reports:
        report.unlink(missing_ok=True)
    code = subprocess.run([*command, f"--junitxml={reports[0]}"], cwd=ROOT, check=False).returncode
    tests = read_report(reports[0])
    if code != TESTS_FAILED or any(name.startswith("tests/unit/") for name in tests.failures):
        return code, tests, []

    print(f"\nrunning {len(tests.failures)} failed tests once more, alone", flush=True)
    options = ["--numprocesses=0", "--last-failed", "--last-failed-no-failures=none", f"--junitxml={reports[1]}"]
    again = subprocess.run(
        [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    still = read_report(reports[1]).failures
    flaky = sorted(tests.failures.keys() - still.keys()) if again.returncode in (0, TESTS_FAILED) else []
    for name in flaky:
        keep_logs(name, tests.failures[name], again.stdout)
        print(f"flaky: {name}, {tests.failures[name].partition(chr(10))[0]}")
    print(again.stdout, end="", flush=True)
    failures = {name: text for name, text in tests.failures.items() if name not in flaky}
    return again.returncode, Tests(tests.passed + len(flaky), failures), flaky


def keep_logs(name: str, first: str, second: str) -> None:
    """Keep what a flaky test printed in its two runs."""
    # A name of a file has at most 255 bytes, and a test's parameters may be any text.
    place = CACHE / "flaky" / f"{now():%Y%m%d_%H%M%S}_{re.sub(r'[^A-Za-z0-9_]+', '.', name)[:200]}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "first.log").write_text(first, encoding="utf-8")
    (place / "second.log").write_text(second, encoding="utf-8")


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def describe_commit() -> str:
    """Return the commit of the checkout, with a plus sign if files differ from it; a dash without git."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "-"


def run(stage: str, command: list[str]) -> int:
    """Run a stage, record its result and return its exit code."""
    CACHE.mkdir(exist_ok=True)
    started = time.monotonic()
    commit, begun = describe_commit(), f"{now():%Y-%m-%dT%H:%M:%SZ}"
    if command[0] == "pytest":
        code, tests, flaky = run_pytest(stage, command)
    else:
        code, flaky = subprocess.run(command, cwd=ROOT, check=False).returncode, []
        tests = Tests(1, {}) if code == 0 else Tests(0, {stage: ""})
    minutes = round((time.monotonic() - started) / 60, 1)
    result = Result(stage, commit, begun, minutes, code, tests.passed, len(tests.failures), flaky)
    with RECORDS.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(result)) + "\n")
    print(result, flush=True)
    return code


def show(stages: list[str]) -> None:
    """Print when each stage last passed, and how its last run ended if it did not pass."""
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    for stage in stages:
        mine = [result for result in results if result.stage == stage]
        # A stage whose tests were all skipped did not pass.
        passed = [result for result in mine if result.code == 0 and result.passed]
        print(f"{passed[-1].time}  {passed[-1]}" if passed else f"{'never passed here':20}  stage {stage}")
        if mine and mine[-1] not in passed:
            print(f"{mine[-1].time}    its last run: {mine[-1]}")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["run", stage, *command] if command:
            return run(stage, command)
        case ["show", *stages] if stages:
            show(stages)
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
