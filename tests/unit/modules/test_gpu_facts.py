# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible runs it, with an nvidia-smi of its own on the PATH."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import devices
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, Link, Nearest, NicLink
from ansible_collections.muster.train.plugins.modules import gpu_facts
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.modules import run_module
from ansible_collections.muster.train.tests.support.nvidia_machines import (
    CUDA,
    DRIVER,
    DRIVER_DOWN,
    NAME,
    QUERY,
    TOPOLOGY,
    VERSIONS,
    machine,
    uuid,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(Machine(machine(tool=False), tmp_path / "root").root)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The nvidia-smi that is found first; what it does is written into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "nvidia-smi"


def write(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(0o755)


def answers(tool: Path) -> str:
    """A script that prints what the machine's own tool would."""
    cases = []
    for number, line in enumerate((QUERY, TOPOLOGY, VERSIONS)):
        text = tool.with_name(str(number))
        text.write_text(machine()["commands"][line]["stdout"], encoding="utf-8")
        cases.append(f'"{line}") cat {text};;')
    return 'case "nvidia-smi $*" in\n' + "\n".join(cases) + "\n*) exit 2;;\nesac"


def test_facts_and_nothing_else(root: Path, tool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tool, answers(tool))
    result = run_module(gpu_facts, capsys, root=str(root), _ansible_check_mode=True)
    assert "failed" not in result
    assert (result["changed"], result["warnings"], list(result["ansible_facts"])) == (False, [], ["gpu"])
    gpu = result["ansible_facts"]["gpu"]
    assert Gpu.from_dict(gpu).to_dict() == gpu
    assert {key: gpu[key] for key in ("vendor", "count", "driver_version", "runtime_version", "nics")} == {
        "vendor": "nvidia",
        "count": 4,
        "driver_version": DRIVER,
        "runtime_version": CUDA,
        "nics": {"NIC0": "mlx5_0", "NIC1": "mlx5_1"},
    }
    assert gpu["devices"][3] == {
        "index": 3,
        "name": NAME,
        "uuid": uuid(3),
        "pci_address": "0000:ae:00.0",
        "numa_node": 1,
        "memory_mib": 81559,
        "partition": None,
    }
    assert {"a": 0, "b": 3, "relation": "NV18", "count": 18} in gpu["links"]
    assert gpu["nearest_nics"][3] == {"gpu": 3, "relation": "PIX", "names": ["mlx5_1"]}


@pytest.mark.parametrize(
    ("script", "warning"),
    [
        pytest.param(f'echo "{DRIVER_DOWN.strip()}"; exit 9', "NVIDIA-SMI has failed because", id="exit 9"),
        pytest.param("yes nvidia-smi | head -c 10000000", "KiB of output, not read", id="10 MB"),
        pytest.param("head -c 100000 /dev/urandom", "nvidia-smi --query-gpu", id="garbage"),
        pytest.param("echo wrong >&2; exit 1", "wrong", id="stderr"),
        pytest.param("kill -9 $$", "exit code -9", id="killed"),
    ],
)
def test_a_tool_that_fails_costs_what_it_alone_knows(
    root: Path, tool: Path, capsys: pytest.CaptureFixture[str], script: str, warning: str
) -> None:
    write(tool, script)
    result = run_module(gpu_facts, capsys, root=str(root))
    assert "failed" not in result
    assert warning in "\n".join(result["warnings"])
    gpu = result["ansible_facts"]["gpu"]
    assert (gpu["vendor"], gpu["count"], gpu["driver_version"], gpu["runtime_version"]) == ("nvidia", 4, DRIVER, None)
    assert [device["uuid"] for device in gpu["devices"]] == [uuid(index) for index in range(4)]
    assert (gpu["links"], gpu["nics"]) == ([], {})
    assert gpu["nearest_nics"][0] == {"gpu": 0, "relation": "PIX", "names": ["mlx5_0"]}


def test_a_tool_that_hangs_is_given_up(root: Path, tool: Path) -> None:
    write(tool, "sleep 600")
    warnings: list[str] = []
    gpu = devices.read(Host(str(root)), warnings.append, cap=0.2)
    assert (gpu.count, [device.memory_mib for device in gpu.devices]) == (4, [None] * 4)
    assert len(warnings) == 1
    assert "nvidia-smi --query-gpu, nvidia-smi topo -m, nvidia-smi -q -d COMPUTE: no answer within 0.2 s" in warnings[0]


def test_a_root_that_is_not_a_directory(tmp_path: Path, tool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tool, "exit 9")
    result = run_module(gpu_facts, capsys, root=str(tmp_path / "no"))
    assert result["warnings"][0] == f"root {tmp_path}/no is not a directory, so nothing can be read"
    assert result["ansible_facts"] == {"gpu": None}


def test_a_link_loop(tmp_path: Path, tool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tool, "exit 9")
    manifest = {
        "links": {
            "/sys/bus/pci/devices": "devices2",
            "/sys/bus/pci/devices2": "devices",
            "/proc/driver/nvidia": "nvidia",
            "/sys/class/infiniband/mlx5_0": "mlx5_0",
        },
        "files": {"/dev/nvidia0": ""},
    }
    result = run_module(gpu_facts, capsys, root=str(Machine(manifest, tmp_path / "root").root))
    assert result["ansible_facts"]["gpu"]["count"] == 1
    assert result["ansible_facts"]["gpu"]["nic_links"] == []


def test_the_documentation_matches_the_facts() -> None:
    facts = yaml.safe_load(gpu_facts.RETURN)["ansible_facts"]["contains"]
    assert list(facts) == ["gpu"]
    contains = facts["gpu"]["contains"]

    def names(record: type) -> list[str]:
        return [field.name for field in dataclasses.fields(record)]

    assert list(contains) == names(Gpu)
    for key, record in (
        ("devices", Device),
        ("links", Link),
        ("nic_links", NicLink),
        ("nearest_nics", Nearest),
    ):
        assert list(contains[key]["contains"]) == names(record)
