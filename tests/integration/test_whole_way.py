# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way on real hosts, over ssh as a user with sudo: from setup to collect, in containers and without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.real_hosts import ROOT, environment

HOSTS = ("n1", "n2", "n3")
RANKS = 6
STEPS = 12


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

    def train(self, **asked: Any) -> str:
        """Launch to the end; once more where PyTorch aborts a rank that has trained, while it leaves: a failure too."""
        for _attempt in range(2):
            code, printed = self.try_to("launch", **asked)
            if code == 0:
                return printed
            assert "SIGABRT" in printed, printed
        raise AssertionError(printed)

    def try_to(self, verb: str, *options: str, **asked: Any) -> tuple[int, str]:
        """Play a verb; return its exit code and what it printed."""
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ansible", "playbook", "-i", str(self.inventory), f"muster.train.{verb}"),
                *("-e", json.dumps({**self.policy, **asked})),
                *options,
            ],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

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
    return [
        int(number)
        for host, number in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", output, re.MULTILINE)
        if host in HOSTS
    ]


@pytest.fixture(params=["docker", "host"])
def way(request: pytest.FixtureRequest, real_inventory: Path, tmp_path: Path) -> Way:
    return Way(real_inventory, request.param, tmp_path)


def test_from_setup_to_collect(way: Way) -> None:
    if way.policy["launch_runtime"] == "docker":
        predicted = changes(way.play("setup", "--check"))
        assert all(predicted)
        assert changes(way.play("setup")) == predicted
        assert changes(way.play("setup")) == [0, 0, 0]
    else:  # the hosts are set up, and only the code is new
        assert all(changes(way.play("setup")))
    way.play("preflight")

    printed = way.train(channels=42, script_args=["--override", f"training.steps={STEPS}"])
    assert f"succeeded · {RANKS} ranks on {len(HOSTS)} nodes" in printed
    experiment, record = way.record()
    assert (record["verdict"], record["nodes"]) == ("succeeded", list(HOSTS))
    for rank in range(RANKS):
        lines = (experiment / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        metrics = [json.loads(line) for line in lines]
        assert (metrics[0]["step"], metrics[-1]["step"]) == (1, STEPS)
        assert metrics[-1]["loss"] < metrics[0]["loss"]
    for node in range(len(HOSTS)):
        [log] = (experiment / "logs").glob(f"node_{node}_*.txt")
        assert f"rank{2 * node}" in log.read_text()
    job = json.loads((experiment / "plan.json").read_text())["jobs"]["n3"]
    assert job["runtime"] == way.policy["launch_runtime"]

    way.play("launch", follow=False, script_args=["--override", "training.steps=100000"])
    run_id = way.record()[1]["run_id"]
    wait_for(lambda: re.search(r" [1-9]\d*/100000 ", way.play("status", run_id=run_id)) is not None, "it trains", 240)
    shown = way.play("logs", lines=200)
    assert all(f"{host}/" in shown for host in HOSTS)
    if job["runtime"] == "docker":
        assert way.ask("n2", "sudo", "-n", "docker", "ps", "--quiet", "--filter", f"name=muster-{run_id}-1") != ""
    assert "stopped" in way.play("stop")
    for host in HOSTS:
        # Without sudo's own environment, which has this very command.
        look = f"grep -lsa MUSTER_RUN_ID={run_id} /proc/[0-9]*/environ || :"
        assert way.ask(host, "sudo", "-n", "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", look) == ""
    # Without containers the head alone is asked.
    assert set(changes(way.play("stop"))) == {0}
    way.play("collect")
    assert way.record()[1]["verdict"] == "stopped"
    assert changes(way.play("collect")) == [0, 0, 0]
