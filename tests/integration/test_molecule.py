# SPDX-License-Identifier: GPL-3.0-or-later
"""Every molecule scenario passes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.play import ROOT, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import environment

pytestmark = pytest.mark.hosts

SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


def test_there_is_a_scenario() -> None:
    # Without one, pytest would skip the test below.
    assert SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, tmp_path: Path) -> None:
    mine = {"MOLECULE_GLOB": "molecule/*/molecule.yml", "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path)}
    command = [sys.executable, "-m", "molecule", "test", "--scenario-name", scenario]
    done = run_to_end(command, {**environment(), **mine}, timeout=None)
    assert done.rc == 0, done.out
