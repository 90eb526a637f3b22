# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs on real hosts, as a person types them from setup to teardown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from .play import PLAYBOOK, ROOT, Played, run_to_end
from .real_hosts import PLAY_S, environment

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
        played = self.try_to(verb, *options, **asked)
        assert played.rc == 0, f"{verb}:\n{played.out}"
        return played.out

    def try_to(self, verb: str, *options: str, **asked: Any) -> Played:
        """Play a verb or a playbook of the checkout."""
        playbook = str(ROOT / verb) if verb.endswith(".yml") else f"muster.train.{verb}"
        words = ["-i", str(self.inventory), playbook, "-e", json.dumps({**self.policy, **asked}), *options]
        return run_to_end([*PLAYBOOK, *words], environment(), timeout=PLAY_S)

    def ask(self, host: str, *argv: str) -> str:
        """Ask a host itself, not the modules under test."""
        adhoc = [*PLAYBOOK[:-1], "adhoc", "-i", str(self.inventory), host, "--one-line"]
        words = ["-m", "ansible.builtin.command", "-a", json.dumps({"argv": list(argv)})]
        callback = {"ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.oneline"}
        done = run_to_end([*adhoc, *words], {**environment(), **callback}, apart=True)
        assert done.rc == 0, done.out + done.err
        return done.out.rpartition("(stdout) ")[2].strip()

    def record(self) -> tuple[Path, dict[str, Any]]:
        """Return the newest experiment and what the controller wrote of it."""
        latest = (self.experiments / "latest").resolve()
        return latest, yaml.safe_load((latest / "run.yml").read_text())


def changes(output: str) -> list[int]:
    """Return how many tasks changed something on each of the hosts."""
    return [int(number) for number in re.findall(r"^n\d +: ok=\d+ +changed=(\d+)", output, re.MULTILINE)]
