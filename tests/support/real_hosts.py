# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests' own cluster of real hosts: containers with systemd, sshd and a Docker Engine each (tests/cluster).

Three kinds: `ALIKE` has three hosts of Debian 12 with PyTorch and Compose, `SINGLE` one, `MIXED` one each of Debian 12,
11 and 13 with the Pythons 3.11, 3.9 and 3.13. Each worker of pytest that needs a cluster has its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, run_to_end, search_path

SETTINGS = ROOT / "tests" / "cluster" / "vars" / "for_tests.yml"
CACHE = ROOT / ".cache" / "cluster"
# Building the images of three releases takes minutes.
PLAY_S = 900.0
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")


@dataclass(frozen=True)
class Hosts:
    """One kind of cluster; `settings` are those of tests/cluster/vars/main.yml that make it so."""

    kind: str
    settings: dict[str, Any]
    limit_s: float = PLAY_S

    @property
    def name(self) -> str:
        """The cluster's name, which is also the name of its directory, for this worker."""
        return "-".join([self.kind, *filter(None, [WORKER])])

    @property
    def inventory(self) -> Path:
        return CACHE / self.name / "inventory"

    def play(self, name: str) -> None:
        """Play tests/cluster/`name`.yml for this cluster; what all clusters share is made by one worker at a time."""
        playbook = ROOT / "tests" / "cluster" / f"{name}.yml"
        settings = {"cluster_name": f"muster-{self.name}", "cluster_dir": str(CACHE / self.name), **self.settings}
        command = [*PLAYBOOK, str(playbook), "--extra-vars", json.dumps(settings)]
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = run_to_end(command, environment(), timeout=self.limit_s)
        if done.rc != 0:
            raise RuntimeError(f"{playbook.name} of the test cluster failed:\n{done.out}")


def environment() -> dict[str, str]:
    """As if the venv were active."""
    return {**os.environ, "NO_COLOR": "1", "PATH": search_path()}


def why_not() -> str | None:
    """Why there can be no such hosts here; None where there can."""
    try:
        done = subprocess.run(
            ["docker", "info"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"real hosts need a Docker Engine, and `docker info` can't be asked: {error}"
    if done.returncode != 0:
        return f"real hosts need a Docker Engine, and none answers: {done.stderr.strip()}"
    return None


def in_root(inventory: Path, host: str, *argv: str) -> list[str]:
    """Return the command line that runs argv as a host's root, from inside and by nothing under test."""
    variables = yaml.safe_load((inventory / "group_vars" / "nodes.yml").read_text())
    return ["docker", "exec", "--interactive", f"{variables['cluster_name']}-{host}", *argv]


def as_root(inventory: Path, host: str, script: str) -> str:
    """Run a shell script as a host's root; return what it printed."""
    done = subprocess.run(
        in_root(inventory, host, "sh", "-eu"),
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"on {host}: {done.stderr}\n{script}")
    return done.stdout


ALIKE = Hosts("alike", {})
# In the gate, where a hang must not cost more.
SINGLE = Hosts("single", {"cluster_hosts": ["n1"]}, limit_s=300.0)
MIXED = Hosts("test", {"cluster_releases": yaml.safe_load(SETTINGS.read_text())["cluster_releases"]})
