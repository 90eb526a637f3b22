# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs on real hosts, as a person types them from setup to teardown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from .real_hosts import PLAY_S, ROOT, environment

# Of a cluster with three.
HOSTS = ("n1", "n2", "n3")


class Way:
    """What a person types, one playbook after another, with one runtime and directories of its own."""

    def __init__(self, inventory: Path, runtime: str, home: Path) -> None:
        self.inventory = inventory
        self.experiments = home / "experiments"
        self.policy = {
            "launch_runtime": runtime,
            "launch_workdir": f"~/way/{runtime}",
            "launch_code_dir": f"~/way/{runtime}/code",
            "launch_stop_grace": 10,
            "launch_experiments_dir": str(self.experiments),
        }

    def play(self, verb: str, *options: str, **asked: Any) -> str:
        """Play a verb, which must succeed; return what it printed."""
        code, printed = self.try_to(verb, *options, **asked)
        assert code == 0, f"{verb}:\n{printed}"
        return printed

    def try_to(self, verb: str, *options: str, **asked: Any) -> tuple[int, str]:
        """Play a verb or a playbook of the checkout; return its exit code and what it printed."""
        playbook = str(ROOT / verb) if verb.endswith(".yml") else f"muster.train.{verb}"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ansible", "playbook", "-i", str(self.inventory), playbook),
                *("-e", json.dumps({**self.policy, **asked})),
                *options,
            ],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PLAY_S,
            check=False,
        )
        return done.returncode, done.stdout

    def train(self, **asked: Any) -> str:
        """Launch to the end; once more where PyTorch aborts a rank that has trained, while it leaves: a failure too."""
        for _attempt in range(2):
            code, printed = self.try_to("launch", **asked)
            if code == 0:
                return printed
            assert "SIGABRT" in printed, printed
        raise AssertionError(printed)

    def ask(self, host: str, *argv: str) -> str:
        """Ask a host itself, not the modules under test."""
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ansible", "adhoc", "-i", str(self.inventory), host, "--one-line"),
                *("-m", "ansible.builtin.command", "-a", json.dumps({"argv": list(argv)})),
            ],
            cwd=ROOT,
            env={**environment(), "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.oneline"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.rpartition("(stdout) ")[2].strip()

    def record(self) -> tuple[Path, dict[str, Any]]:
        """Return the newest experiment and what the controller wrote of it."""
        latest = (self.experiments / "latest").resolve()
        return latest, yaml.safe_load((latest / "run.yml").read_text())


def changes(output: str) -> list[int]:
    """Return how many tasks changed something on each of the hosts."""
    return [int(number) for number in re.findall(r"^n\d +: ok=\d+ +changed=(\d+)", output, re.MULTILINE)]
