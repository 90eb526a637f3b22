# SPDX-License-Identifier: GPL-3.0-or-later
"""Slow tools, each within its own cap, cost together no more than one part of the facts may take."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import PROBE_CAP_S
from ansible_collections.muster.train.plugins.module_utils._gpu import devices
from ansible_collections.muster.train.plugins.module_utils._host import budget
from ansible_collections.muster.train.plugins.module_utils._host.budget import BUDGET_S
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._software.tools import read_tools
from ansible_collections.muster.train.tests.support.amd_machines import NODES, mi250
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.nvidia_machines import EVERYTHING, LIST, QUERY, VERSIONS, machine


class Slow(Machine):
    """A machine whose commands take their time of a clock of its own, and no more than they are given."""

    def __init__(
        self, manifest: dict[str, Any], root: Path, takes: dict[str, float], patch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(manifest, root)
        self.takes = takes
        self.now = 0.0
        patch.setattr(budget, "monotonic", lambda: self.now)

    def _answer(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        result = super()._answer(argv, timeout, cwd)
        wanted = self.takes.get(shlex.join(argv), self.takes.get(argv[0], 0.0))
        self.now += min(wanted, timeout)
        return CommandResult(None, "", "", timed_out=True) if wanted > timeout else result


def test_files_have_time_of_their_own_besides_commands() -> None:
    assert BUDGET_S < PROBE_CAP_S


def amd(root: Path, patch: pytest.MonkeyPatch) -> Slow:
    """A machine of AMD whose files have no names and links, and whose tools are slow and broken."""
    manifest = mi250()
    for path in [path for path in manifest["files"] if path.startswith(NODES)]:
        text = manifest["files"][path]
        manifest["files"][path] = "\n".join(line for line in text.splitlines() if not line.startswith("hive_id"))
    for path in [path for path in manifest["files"] if "/io_links/" in path]:
        del manifest["files"][path]
    broken = {"rc": 1, "stdout": "[]", "stderr": "AMDSMI_STATUS_DRIVER_NOT_LOADED\n"}
    lines = ("amd-smi static --asic --bus --json", "amd-smi topology --json", "amd-smi topology")
    manifest["commands"] = dict.fromkeys(lines, broken)
    return Slow(manifest, root, {"amd-smi": 3.5, "rocm-smi": 3.5}, patch)


def test_amd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, warnings = amd(tmp_path, monkeypatch), list[str]()
    gpu = devices.read_gpu(host, warnings.append)
    assert host.now <= BUDGET_S
    assert gpu is not None and (gpu.vendor, gpu.count, len(warnings)) == ("amd", 8, 1)


def test_nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = machine()
    manifest["commands"][QUERY] = {"rc": 2, "stdout": "Field mig.mode.current is not a valid field to query.\n"}
    host = Slow(manifest, tmp_path, {VERSIONS: 4.5, EVERYTHING: 4.5, LIST: 4.5}, monkeypatch)
    warnings: list[str] = []
    gpu = devices.read_gpu(host, warnings.append)
    assert host.now <= BUDGET_S
    assert gpu is not None and (gpu.vendor, gpu.count, len(gpu.links)) == ("nvidia", 4, 6)
    assert LIST not in host.commands_run


def test_container_runtimes_and_schedulers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = {
        f"{name} --version": {"stdout": "?"} for name in ("docker", "podman", "apptainer", "singularity", "srun")
    }
    host = Slow({"commands": commands}, tmp_path, dict.fromkeys(commands, 1.9), monkeypatch)
    read_tools(host)
    assert host.now <= BUDGET_S
