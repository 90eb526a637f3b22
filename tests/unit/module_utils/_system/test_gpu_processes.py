# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that compute on GPUs."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import GpuProcess
from ansible_collections.muster.train.plugins.module_utils._system.gpu_processes import (
    KFD,
    USERS,
    parse_users,
    read_gpu_processes,
)
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer
from ansible_collections.muster.train.tools._machine.machine import MACHINES
from ansible_collections.muster.train.tools._machine.manifest import read

RUN = "multinode_20261120_143052"
SMI = " ".join(USERS)
OURS = {"/proc/4242/comm": "python3\n", "/proc/4242/environ": f"MUSTER_RUN_ID={RUN}\0RANK=3\0"}
ME = pwd.getpwuid(os.geteuid()).pw_name
TEXT = "4242, 00000000:1B:00.0\n4243, 00000000:1B:00.0\n[Not Supported], 00000000:2C:00.0\n"
USING = [
    GpuProcess(4242, os.geteuid(), "python3", RUN, "0000:1b:00.0", ME, 3),
    GpuProcess(4243, None, None, None, "0000:1b:00.0"),
]


def test_users_of_nvidia_gpus(tmp_path: Path) -> None:
    host = OwnMachine({"files": {**OURS, "/dev/nvidia0": ""}, "commands": {SMI: answer(TEXT)}}, tmp_path)
    assert read_gpu_processes(host) == USING


def test_users_of_gpus_that_only_the_tool_shows(tmp_path: Path) -> None:
    assert read_gpu_processes(OwnMachine({"files": OURS, "commands": {SMI: answer(TEXT)}}, tmp_path)) == USING


@pytest.mark.parametrize("hangs", [[], ["nvidia-smi"]], ids=["missing", "hangs"])
def test_without_the_tool_the_users_of_nvidia_gpus_are_unknown(tmp_path: Path, hangs: list[str]) -> None:
    assert read_gpu_processes(OwnMachine({"files": {"/dev/nvidia0": ""}}, tmp_path, hangs)) is None


def test_below_another_root_no_tool_is_run(tmp_path: Path) -> None:
    host = Machine({"files": {"/dev/nvidia0": ""}, "commands": {SMI: answer(TEXT)}}, tmp_path)
    assert (read_gpu_processes(host), host.commands_run) == (None, [])


def test_users_of_amd_gpus(tmp_path: Path) -> None:
    gpu = {"/dev/kfd": "", "/dev/dri/renderD128": ""}
    for name, text in {
        "properties": "simd_count 304\ndrm_render_minor 128\nlocation_id 3072\n",
        "gpu_id": "1\n",
    }.items():
        gpu[f"/sys/class/kfd/kfd/topology/nodes/0/{name}"] = text
    files = {"/proc/55/comm": "python\n", **gpu, f"{KFD}/55/pasid": "32769\n", f"{KFD}/x/pasid": "1\n"}
    assert read_gpu_processes(Machine({"files": files}, tmp_path)) == [
        GpuProcess(55, os.geteuid(), "python", None, "/dev/kfd", ME)
    ]


def test_a_recorded_machine_without_gpus_has_none(tmp_path: Path) -> None:
    manifest = read((MACHINES / "laptop.yml").read_text(encoding="utf-8"))
    assert read_gpu_processes(Machine(manifest, tmp_path)) == []


def test_a_rank_counts_only_in_a_run_and_as_a_number(tmp_path: Path) -> None:
    files = {
        "/dev/nvidia0": "",
        "/proc/4242/environ": "RANK=3\0",
        "/proc/4243/environ": f"MUSTER_RUN_ID={RUN}\0RANK=x\0",
    }
    using = read_gpu_processes(OwnMachine({"files": files, "commands": {SMI: answer(TEXT)}}, tmp_path)) or []
    assert [(process.run_id, process.rank) for process in using] == [(None, None), (RUN, None)]


def test_parse_users() -> None:
    assert parse_users("No running processes found\n1, 0000:3B:00.0\n") == [(1, "0000:3b:00.0")]
