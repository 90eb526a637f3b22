# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one stage of the tests and record how it ended (tests/README.md).

usage: stage.py run NAME COMMAND [ARGUMENT...]
       stage.py show NAME...

`run` ends with one line, which .cache/stages.jsonl keeps as data: stage, commit, passed, failed, flaky, skipped,
minutes. If the command is pytest, its tests are counted, otherwise the command itself. End-to-end tests that failed run
once more, alone, after all others. One that passes then is flaky: the stage succeeds, and .cache/flaky has what both
runs printed. Unit tests are never run twice. `show` prints when each stage last passed in this checkout.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
RECORDS = CACHE / "stages.jsonl"
# The exit code of pytest if tests failed and nothing else went wrong.
TESTS_FAILED = 1
# More failures than these have a cause that another run does not remove.
MOST_FLAKY = 5
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


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
    skipped: int = 0
    flaky: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {len(self.flaky)} flaky, {self.skipped} skipped"
        # pytest exits with a code above 1 if it did not run all tests.
        aborted = f", exit code {self.code}" if self.code > TESTS_FAILED or (self.code and not self.failed) else ""
        return f"stage {self.stage} at {self.commit}: {counts}, {self.minutes} min{aborted}"


@dataclass(frozen=True)
class Case:
    """The outcome of a test, and what pytest wrote of it: the reason first, then what the test printed."""

    outcome: str
    text: str


def read_report(path: Path) -> dict[str, Case]:
    """Return the tests of a report that pytest wrote (--junitxml), by name; without a report, none."""
    cases: dict[str, Case] = {}
    for case in ET.parse(path).iter("testcase") if path.exists() else ():
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        problems = [*case.iter("failure"), *case.iter("error")]
        outcome = FAILED if problems else PASSED if case.find("skipped") is None else SKIPPED
        reasons = [f"{problem.get('message')}\n{problem.text}" for problem in problems]
        text = "\n".join([*reasons, *(part.text or "" for part in case if part.tag.startswith("system-"))])
        # A test whose teardown failed is in the report twice.
        if name not in cases or outcome == FAILED:
            cases[name] = Case(outcome, text)
    return cases


def is_end_to_end(name: str) -> bool:
    """Return whether a test is an end-to-end test; an error of the collection, which has no path, is not one."""
    return name.startswith("tests/") and not name.startswith("tests/unit/")


def run_pytest(stage: str, command: list[str]) -> tuple[int, dict[str, Case], list[str]]:
    """Run the tests, then the failed end-to-end tests again; return exit code, tests, and names of the flaky ones."""
    reports = [CACHE / f"{stage}.xml", CACHE / f"{stage}.again.xml"]
    for report in reports:
        report.unlink(missing_ok=True)
    command = [*command, "--override-ini=junit_logging=all"]
    quiet = "--override-ini=junit_log_passing_tests=false"
    code = subprocess.run([*command, quiet, f"--junitxml={reports[0]}"], cwd=ROOT, check=False).returncode
    tests = read_report(reports[0])
    failed = {name: case for name, case in tests.items() if case.outcome == FAILED}
    if code != TESTS_FAILED or not all(map(is_end_to_end, failed)) or len(failed) > MOST_FLAKY:
        return code, tests, []

    print(f"\nrunning {len(failed)} failed tests once more, alone", flush=True)
    options = ["--numprocesses=0", "--last-failed", "--last-failed-no-failures=none", f"--junitxml={reports[1]}"]
    again = subprocess.run(
        [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    second = read_report(reports[1])
    # One that is skipped now did not pass.
    flaky = sorted(name for name in failed if name in second and second[name].outcome == PASSED)
    for name in flaky:
        keep_logs(name, failed[name], second[name])
        print(f"flaky: {name}, {failed[name].text.partition(chr(10))[0]}")
    print(again.stdout, end="", flush=True)
    code = again.returncode or (TESTS_FAILED if len(flaky) < len(failed) else 0)
    return code, {**tests, **{name: second[name] for name in flaky}}, flaky


def keep_logs(name: str, first: Case, second: Case) -> None:
    """Keep what a flaky test printed in its two runs."""
    # A name of a file has at most 255 bytes, and a test's parameters may be any text.
    place = CACHE / "flaky" / f"{now():%Y%m%d_%H%M%S}_{re.sub(r'[^A-Za-z0-9_]+', '.', name)[:200]}"
    place.mkdir(parents=True, exist_ok=True)
    for file, case in (("first.log", first), ("second.log", second)):
        (place / file).write_text(f"{case.outcome}\n{case.text}\n", encoding="utf-8")


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def describe_commit() -> str:
    """Return the commit of the checkout, with a plus sign if any file differs from it; a dash outside a repository."""
    commands = (["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain"])
    try:
        commit, changes = [subprocess.run(c, cwd=ROOT, capture_output=True, text=True, check=True) for c in commands]
    except (OSError, subprocess.CalledProcessError):
        return "-"
    return commit.stdout.strip() + ("+" if changes.stdout else "")


def run(stage: str, command: list[str]) -> int:
    """Run a stage, record its result and return its exit code."""
    CACHE.mkdir(exist_ok=True)
    started = time.monotonic()
    commit, begun = describe_commit(), f"{now():%Y-%m-%dT%H:%M:%SZ}"
    if command[0] == "pytest":
        code, tests, flaky = run_pytest(stage, command)
    else:
        code, flaky = subprocess.run(command, cwd=ROOT, check=False).returncode, []
        tests = {stage: Case(FAILED if code else PASSED, "")}
    minutes = round((time.monotonic() - started) / 60, 1)
    counts = Counter(case.outcome for case in tests.values())
    result = Result(stage, commit, begun, minutes, code, counts[PASSED], counts[FAILED], counts[SKIPPED], flaky)
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
