# SPDX-License-Identifier: GPL-3.0-or-later
"""A role that is broken in one place turns its scenario red: the scenario sees what the role is for. `make mutations`.

On the tests' own hosts, or on others that MUSTER_TEST_INVENTORY names: as many mutations side by side as there are
hosts, each on one; alone and on all of them where one host would show nothing (`hosts: all`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.mutations import MUTATIONS, mutate
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, Played, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import environment

# What a scenario and the roles need of the collection.
PARTS = ("galaxy.yml", "meta", "molecule", "playbooks", "plugins", "roles")


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

    def play(self, what: str, hosts: Sequence[str]) -> Played:
        """Play a playbook of the scenario on these hosts and, where it does so, on the controller."""
        variables = {
            **environment(),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(self._home / "collections"),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(self._home),
        }
        playbook = str(self.copy / f"molecule/hosts/{self._role}/{what}.yml")
        return ansible(
            "playbook", "-i", str(self._inventory), "--limit", ",".join(["localhost", *hosts]), playbook, env=variables
        )


def ansible(program: str, *arguments: str, env: dict[str, str]) -> Played:
    return run_to_end([*PLAYBOOK[:-1], program, *arguments], env, timeout=None)


@pytest.fixture(scope="module")
def inventory(request: pytest.FixtureRequest) -> Path:
    """The hosts to break roles on; the tests' own are made only if no others are named."""
    named = os.environ.get("MUSTER_TEST_INVENTORY")
    inventory = Path(named).resolve() if named else request.getfixturevalue("real_inventory")
    assert isinstance(inventory, Path)
    assert inventory.exists(), f"MUSTER_TEST_INVENTORY: {inventory} is not there"
    return inventory


@pytest.fixture(scope="module")
def hosts(inventory: Path) -> list[str]:
    listed = ansible("inventory", "-i", str(inventory), "--list", env=environment())
    assert listed.rc == 0, listed.out
    return list(json.loads(listed.out)["nodes"]["hosts"])


# What converge and verify of a scenario with a broken role came to.
Outcome = tuple[Played, Played]


def broken(name: str, home: Path, inventory: Path, hosts: Sequence[str]) -> Outcome:
    role, mutation = MUTATIONS[name]
    scenario = Scenario(role, home, inventory)
    path = scenario.copy / mutation["file"]
    path.write_text(mutate(path.read_text(), mutation))
    return scenario.play("converge", hosts), scenario.play("verify", hosts)


def turns(names: Iterable[str], hosts: Sequence[str]) -> Iterator[list[tuple[str, Sequence[str]]]]:
    """Share the hosts out: what is done at once, one turn after the other, as names with their hosts."""
    single = []
    for name in names:
        if MUTATIONS[name][1].get("hosts") == "all":
            yield [(name, hosts)]
        else:
            single.append(name)
    for first in range(0, len(single), len(hosts)):
        yield [(name, [host]) for name, host in zip(single[first:], hosts, strict=False)]


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, inventory: Path, hosts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Outcome]:
    """Ask for a mutation's outcome: the first that is asked for of a role has all played that were selected."""
    mine = test_a_broken_role_turns_its_scenario_red.__name__
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    selected = [str(item.callspec.params["name"]) for item in items if item.originalname == mine]
    outcomes: dict[str, Outcome] = {}

    def play(role: str) -> None:
        home = tmp_path_factory.mktemp(role)
        cleaner = Scenario(role, home / "whole", inventory)

        def clean() -> None:
            """Leave hosts that have nothing of the role."""
            done = cleaner.play("cleanup", hosts)
            assert done.rc == 0, done.out

        clean()
        for turn in turns([name for name in selected if MUTATIONS[name][0] == role], hosts):
            with ThreadPoolExecutor(len(turn)) as pool:
                played = {
                    name: pool.submit(broken, name, home / f"mutation{number}", inventory, where)
                    for number, (name, where) in enumerate(turn, len(outcomes))
                }
            outcomes.update({name: future.result() for name, future in played.items()})
            clean()

    def of(name: str) -> Outcome:
        if name not in outcomes:
            play(MUTATIONS[name][0])
        return outcomes[name]

    return of


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_role_turns_its_scenario_red(outcome: Callable[[str], Outcome], name: str) -> None:
    converged, verified = outcome(name)
    if converged.rc != 0:
        # A role that asks the host what it has now notices by itself; anything else is a mutation that does not run.
        assert " expected " in converged.out, converged.out
        assert "UNREACHABLE" not in converged.out
        return
    assert verified.rc != 0, verified.out
    assert "UNREACHABLE" not in verified.out
