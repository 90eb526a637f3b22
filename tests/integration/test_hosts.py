# SPDX-License-Identifier: GPL-3.0-or-later
"""Every scenario of molecule/hosts passes, on real hosts that are made once for all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.play import ROOT, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import MIXED, environment
from ansible_collections.muster.train.tests.support.recaps import steps, surprises

pytestmark = pytest.mark.hosts

# `default` makes and removes the hosts when molecule is run without pytest.
SCENARIOS = sorted({path.parent.name for path in ROOT.glob("molecule/hosts/*/molecule.yml")} - {"default"})


def test_there_is_a_scenario() -> None:
    # Without one, pytest would skip the test below.
    assert SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, mixed_inventory: Path, tmp_path: Path) -> None:
    assert mixed_inventory.is_dir()
    configs = ["-c", ".config/molecule/config.yml", "-c", ".config/molecule/hosts.yml"]
    words = [*configs, "test", "--scenario-name", scenario, "--no-shared-state"]
    mine = {
        "MOLECULE_GLOB": "molecule/hosts/*/molecule.yml",
        "MUSTER_TEST_CLUSTER": MIXED.name,
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
    }
    done = run_to_end([sys.executable, "-m", "molecule", *words], {**environment(), **mine}, timeout=None)
    assert done.rc == 0, done.out
    played = steps(done.out)
    # A step whose playbook is not there is no more than a warning.
    assert [step for step, changes in played if not changes] == []
    assert surprises(played) == [], done.out
    if (ROOT / "molecule/hosts" / scenario / "converge.yml").exists():
        names = [step for step, _changes in played]
        assert names[:4] == ["check", "converge", "check", "idempotence"]
        assert any(played[0][1].values()) == (scenario != "preflight"), "it only looks"
