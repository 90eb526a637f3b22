# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of the tests: tests/README.md, the Makefile, the nightly workflow and the gate's tests agree."""

from __future__ import annotations

import re
import subprocess
import sys

from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.sources import ROOT

PAGE = sources.text("tests/README.md")
MOST = 40


def stages() -> list[str]:
    """Return the stages of the Makefile."""
    [line] = re.findall(r"^STAGES := (.+)$", sources.text("Makefile"), re.MULTILINE)
    return str(line).split()


def test_every_stage_is_on_the_page_with_its_folders_and_runs_each_night() -> None:
    rows = re.findall(r"^\| `make ([\w-]+)` \| .+ \| \d+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert [name for name, _folders in rows] == ["test", *stages()]
    paths = [path for _name, folders in rows for path in re.findall(r"`([^`]+)`", folders)]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    workflow = sources.document(".github/workflows/nightly.yml")
    assert workflow["jobs"]["stage"]["strategy"]["matrix"]["stage"] == stages()


def test_the_planted_defects_meet_the_tests_that_the_gate_selects() -> None:
    suite = sources.text("tests/mutations/gate/suite.py")
    [gate] = re.findall(r'^GATE = "(.+)"$', suite, re.MULTILINE)
    assert f"$(STAGE) gate $(PYTEST) -m '{gate}'\n" in sources.text("Makefile")


def test_the_gate_has_the_end_to_end_tests_of_the_page_and_at_most_40() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "gate", "tests/integration"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    items = re.findall(r"^tests/(\S+\.py)::(\w+)", done.stdout, re.MULTILINE)
    listed = re.findall(r"^\| .+ \| \[(\w+)\]\((integration/\w+\.py)\) \|$", PAGE, re.MULTILINE)
    assert 0 < len(items) <= MOST
    assert sorted(set(items)) == sorted((path, name) for name, path in listed)
