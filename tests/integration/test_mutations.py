# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role that is broken in one place turns its scenario red: the scenario sees what the role is for.

On the tests' own hosts, or on others that MUSTER_TEST_INVENTORY names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.integration.real_hosts import ROOT, environment

MUTATIONS = {
    f"{path.stem}: {mutation['name']}": (path.stem, mutation)
    for path in sorted((ROOT / "tests/mutations").glob("*.yml"))
    for mutation in yaml.safe_load(path.read_text())
}
# What a scenario and the roles need of the collection.
PARTS = ("galaxy.yml", "meta", "molecule", "playbooks", "plugins", "roles")


def mutate(text: str, mutation: dict[str, Any]) -> str:
    """Break a file in the one place that is meant."""
    assert text.count(mutation["text"]) == 1, f"{mutation['text']!r} has to be once in {mutation['file']}"
    return text.replace(mutation["text"], mutation["instead"])


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_fit_the_roles(name: str) -> None:
    _role, mutation = MUTATIONS[name]
    path = ROOT / mutation["file"]
    before = path.read_text()
    after = mutate(before, mutation)
    assert yaml.safe_load(after) != yaml.safe_load(before)


class Scenario:
    """The playbooks of one scenario, run from a copy of the collection."""

    def __init__(self, role: str, home: Path, inventory: Path) -> None:
        self.copy = home / "collections/ansible_collections/muster/train"
        self.copy.mkdir(parents=True)
        for part in PARTS:
            source, target = ROOT / part, self.copy / part
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for path in (ROOT / "collections/ansible_collections").iterdir():
            if path.name != "muster":
                (self.copy.parents[1] / path.name).symlink_to(path)
        self._role = role
        self._home = home
        self._inventory = inventory

    def play(self, what: str) -> subprocess.CompletedProcess[str]:
        variables = {
            **environment(),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(self._home / "collections"),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(self._home),
        }
        playbook = self.copy / f"molecule/hosts/{self._role}/{what}.yml"
        return subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "-i", str(self._inventory), str(playbook)],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.fixture
def inventory(request: pytest.FixtureRequest) -> Path:
    """The hosts to break roles on; the tests' own are made only if nobody names others."""
    named = os.environ.get("MUSTER_TEST_INVENTORY")
    found = Path(named).resolve() if named else request.getfixturevalue("real_inventory")
    assert isinstance(found, Path)
    assert found.exists(), f"MUSTER_TEST_INVENTORY: {found} is not there"
    return found


@pytest.fixture
def scenario(request: pytest.FixtureRequest, inventory: Path, tmp_path: Path) -> Iterator[Scenario]:
    """The scenario of a mutation's role, on hosts that have nothing of it before and afterwards."""
    role, _mutation = MUTATIONS[request.param]
    made = Scenario(role, tmp_path, inventory)
    cleaner = Scenario(role, tmp_path / "whole", inventory)
    for _turn in ("before", "afterwards"):
        done = cleaner.play("cleanup")
        assert done.returncode == 0, done.stdout
        if _turn == "before":
            yield made


@pytest.mark.parametrize(("scenario", "name"), [(name, name) for name in MUTATIONS], indirect=["scenario"])
def test_a_broken_role_turns_its_scenario_red(scenario: Scenario, name: str) -> None:
    _role, mutation = MUTATIONS[name]
    path = scenario.copy / mutation["file"]
    path.write_text(mutate(path.read_text(), mutation))
    converged = scenario.play("converge")
    verified = scenario.play("verify")
    assert converged.returncode == 0, f"the role itself noticed, verify had nothing to see:\n{converged.stdout}"
    assert verified.returncode != 0, verified.stdout
    assert "UNREACHABLE" not in verified.stdout
