# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of local nodes for one test: its inventory, its directories, and the verbs run as a user would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.jobs import state_of_dir, wait_for
from ansible_collections.muster.train.tests.support.play import LIMIT_S, PLAYBOOK, ROOT, Played, run_to_end, start

WORKLOADS = ROOT / "tests" / "integration" / "workloads"
# One id for every cluster's run: what tells two runs apart is the directory, and each test proves it anew.
RUN_ID = "multinode_42ch_autoth_20261120_143052_test"
# What the machine of the tests is like, and what runs beside them, is not what a test of `preflight` is about.
OF_MACHINE = ("disks", "leftovers", "hung", "gpu_processes", "kernel_log", "sudo", "memory", "device_files")


def port_range() -> str:
    """Return ports that no other worker of pytest takes: many, as runs that begin at one moment see the same free."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 6
    return f"{20000 + 2000 * worker}-{21999 + 2000 * worker}"


@dataclass
class Cluster:
    """Nodes named node0, node1, … on this machine, reached by the local connection; policy as an inventory has it."""

    home: Path
    names: list[str] = field(default_factory=lambda: ["node0", "node1"])
    policy: dict[str, Any] = field(default_factory=dict)
    per_node: dict[str, dict[str, Any]] = field(default_factory=dict)
    spares: list[str] = field(default_factory=list)
    # The controller's Python; the nodes always have that of the tests.
    controller: str = sys.executable

    def __post_init__(self) -> None:
        self.policy = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_remote_tmp": str(self.remote_tmp),
            "launch_python": sys.executable,
            "launch_code_dir": str(WORKLOADS),
            "launch_workdir": str(self.home / "work") + "/{{ inventory_hostname }}",
            "launch_head_address": "127.0.0.1",
            "launch_experiments_dir": str(self.home / "experiments"),
            "launch_stop_grace": 5,
            "launch_abort_grace": 2,
            "launch_port_range": port_range(),
            "launch_defaults": {"script": "sleeper.py", "launcher": "python", "nproc": 1},
            **self.policy,
        }
        self.write()

    @property
    def inventory(self) -> Path:
        """The inventory's file."""
        return self.home / "hosts.yml"

    @property
    def experiments(self) -> Path:
        """Where experiments go."""
        return self.home / "experiments"

    @property
    def remote_tmp(self) -> Path:
        """Where Ansible keeps its files on the nodes."""
        return self.home / "remote_tmp"

    @property
    def local_tmp(self) -> Path:
        """Where the controller keeps its files: beside the home, which some test wants to find empty."""
        return self.home.with_name(f"{self.home.name}.local_tmp")

    def write(self) -> None:
        """Write the inventory (again, after a change of the fields)."""
        names = {"nodes": self.names, **({"spares": self.spares} if self.spares else {})}
        groups = {
            group: {"hosts": {name: self.per_node.get(name, {}) for name in members}, "vars": self.policy}
            for group, members in names.items()
        }
        self.inventory.write_text(yaml.safe_dump(groups))

    def ignore_machine(self) -> None:
        """Turn the checks off that judge the machine."""
        self.policy["preflight_levels"] = dict.fromkeys(OF_MACHINE, "off")
        self.write()

    def command(self, playbook: str, *extra: str) -> list[str]:
        """Return the command line of a playbook of the checkout."""
        return [self.controller, *PLAYBOOK[1:], "-i", str(self.inventory), str(ROOT / playbook), *extra]

    def environment(self, **more: str) -> dict[str, str]:
        """Return the playbooks' environment: the checkout's ansible.cfg and no variable that would change it."""
        foreign = ("CHANNELS", "THREADS", "CONFIG_FILE", "NPROC_PER_NODE", "LABEL", "MASTER_PORT", "PYTHONUNBUFFERED")
        kept = {name: value for name, value in os.environ.items() if name not in foreign}
        mine = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_LOCAL_TEMP": str(self.local_tmp)}
        return {**kept, **mine, **more}

    def play(
        self, playbook: str, *extra: str, apart: bool = False, timeout: float = LIMIT_S, **environment: str
    ) -> Played:
        """Run a playbook to its end."""
        return run_to_end(self.command(playbook, *extra), self.environment(**environment), apart=apart, timeout=timeout)

    def start(self, playbook: str, *extra: str, **environment: str) -> subprocess.Popen[str]:
        """Start a playbook in a process group of its own."""
        return start(self.command(playbook, *extra), self.environment(**environment))

    def verb(self, verb: str, *extra: str, **parameters: Any) -> Played:
        """Run a verb's playbook to its end."""
        return self.play(*self._verb(verb, parameters), *extra)

    def launch(self, *extra: str, **parameters: Any) -> Played:
        """Launch the run of this cluster's tests; unless told otherwise it is not followed."""
        return self.verb("launch", *extra, **{"run_id": RUN_ID, "follow": False, **parameters})

    def begin(self, verb: str, *extra: str, **parameters: Any) -> subprocess.Popen[str]:
        """Start a verb's playbook, in a process group of its own, on the run of this cluster's tests."""
        return self.start(*self._verb(verb, {"run_id": RUN_ID, **parameters}), *extra)

    @staticmethod
    def _verb(verb: str, parameters: dict[str, Any]) -> tuple[str, str, str]:
        return f"playbooks/{verb}.yml", "-e", json.dumps(parameters)

    def run_dir(self, node: str, run_id: str = RUN_ID) -> Path:
        """Return a run's directory on a node."""
        return Path(layout.run_dir(str(self.home / "work" / node), node, run_id))

    def state(self, node: str, run_id: str = RUN_ID) -> dict[str, Any]:
        """Return what the runner wrote on a node, empty before it did."""
        return state_of_dir(self.run_dir(node, run_id))

    def metrics(self, node: str) -> list[Path]:
        """Return the metrics that the ranks of a node have begun to write."""
        return sorted((self.run_dir(node) / "outputs").glob("*_metrics.jsonl"))

    def wait_phase(self, run_id: str, phase: str, *nodes: str, seconds: float = 180) -> None:
        """Wait until the state of these nodes (of all) says so."""

        def reached(node: str) -> bool:
            return bool(self.state(node, run_id).get("phase") == phase)

        for node in nodes or self.names:
            wait_for(partial(reached, node), f"{node} is {phase}", seconds)

    def processes(self, run_id: str | None = None) -> list[Process]:
        """Return the living processes of this cluster's runs (of one run)."""
        mine = str(self.home / "work")
        processes = []
        for process in process_tree.every():
            marks = process_tree.environment(process.pid)
            if marks.get("MUSTER_RUN_DIR", "").startswith(mine) and run_id in (None, marks.get("MUSTER_RUN_ID")):
                processes.append(process)
        return processes

    def controllers(self) -> list[Process]:
        """Return the living processes of this cluster's playbooks: Ansible, its workers, and what these run."""
        playbooks = []
        for process in process_tree.every():
            marks = process_tree.environment(process.pid)
            if marks.get("ANSIBLE_LOCAL_TEMP") == str(self.local_tmp) and "MUSTER_RUN_DIR" not in marks:
                playbooks.append(process)
        return playbooks

    def marks(self, name: str) -> list[str | None]:
        """Return a mark of every living process of this cluster's runs."""
        return [process_tree.environment(process.pid).get(name) for process in self.processes()]

    def identities(self) -> set[tuple[int, int]]:
        """Return pid and start time of every living process of this cluster's runs."""
        return {(process.pid, process.start_time) for process in self.processes()}

    def record(self, run_id: str = RUN_ID) -> dict[str, Any]:
        """Return what run.yml of an experiment says."""
        return dict(yaml.safe_load((self.experiments / run_id / "run.yml").read_text()))

    def destroy(self) -> None:
        """End whatever a test left."""
        for _attempt in range(3):
            for process in self.processes():
                process_tree.send(process, signal.SIGKILL)
