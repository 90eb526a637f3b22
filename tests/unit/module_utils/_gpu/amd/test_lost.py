# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs of AMD that the compute driver does not have, and machines where nothing is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.lost import ABSENT
from ansible_collections.muster.train.plugins.module_utils._gpu.devices import read_gpu
from ansible_collections.muster.train.tests.support import amd_machines
from ansible_collections.muster.train.tests.support.amd_machines import PCI
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine

EXTRA = "0000:f5:00.0"


def with_device(
    kind: str = "0x120000", model: str = "0x74a1", driver: str | None = None, **files: str
) -> dict[str, Any]:
    """Eight MI300X, which are of model 0x74a1, and one more device on the bus."""
    made = amd_machines.mi300x()
    listed = {f"{path.rpartition('/')[0]}/device": "0x74a1\n" for path in made["files"] if path.endswith("/vendor")}
    made["files"] |= listed
    made["files"] |= {f"{PCI}/{EXTRA}/{name}": value for name, value in files.items()}
    made["files"] |= {
        f"{PCI}/{EXTRA}/vendor": "0x1002\n",
        f"{PCI}/{EXTRA}/class": f"{kind}\n",
        f"{PCI}/{EXTRA}/device": f"{model}\n",
    }
    if driver:
        made["links"] = {f"{PCI}/{EXTRA}/driver": f"../../../../bus/pci/drivers/{driver}"}
    return made


def without_kfd() -> dict[str, Any]:
    """No GPU could be initialized: the module is loaded, and KFD has only the processors."""
    made = amd_machines.mi300x()
    gone = ("/sys/class/kfd/kfd/topology/nodes/", "/dev/dri")
    made["files"] = {path: text for path, text in made["files"].items() if not path.startswith(gone)}
    return made


NOT_LOADED = {"rc": 1, "stderr": "ERROR: Driver not initialized (amdgpu not found in modules)\n"}
BROKEN_TOOL = {"rc": 1, "stderr": "Traceback (most recent call last):\nModuleNotFoundError: No module named 'amdsmi'\n"}
ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in amd_machines.MI300X_BUSES]


def without_driver(**answers: dict[str, Any]) -> dict[str, Any]:
    """The driver is not loaded; answers are those of the tools, by their names with an underscore."""
    made = without_kfd()
    made["files"] = {
        path: text for path, text in made["files"].items() if not path.startswith(("/sys/module/amdgpu", "/dev/kfd"))
    }
    calls = {"amd_smi": "amd-smi list", "rocm_smi": "rocm-smi --showid"}
    return {**made, "commands": {calls[name]: answer for name, answer in answers.items()}}


LOST = {
    "initialization failed, so it has no driver": (with_device(), [EXTRA]),
    "a driver, and no node of KFD": (with_device(driver="amdgpu"), [EXTRA]),
    "an MI210": (with_device("0x038000", "0x740f"), [EXTRA]),
    "none could be initialized": (without_kfd(), ADDRESSES),
    "the driver is not loaded": (without_driver(amd_smi=NOT_LOADED, rocm_smi=NOT_LOADED), ADDRESSES),
    "the driver is not loaded, and there is one tool": (without_driver(rocm_smi=NOT_LOADED), ADDRESSES),
}
WHOLE = {
    "no driver and no tool, so nobody wants the GPUs": without_driver(),
    "no driver, and a tool that cannot run": without_driver(amd_smi=BROKEN_TOOL),
    "no driver, and a tool that works": without_driver(amd_smi=NOT_LOADED, rocm_smi={"rc": 0}),
    "eight": amd_machines.mi300x(),
    "partitions": amd_machines.mi300x_cpx(),
    "two dies a card": amd_machines.mi250(),
    "passed on to a virtual machine": with_device(driver="vfio-pci"),
    "reserved for one": with_device(driver_override="vfio-pci\n"),
    "a screen": with_device("0x030000", "0x1478", "amdgpu"),
    "a screen without a driver": with_device("0x030000", "0x1478"),
    "a virtual function": with_device(**{"physfn/vendor": "0x1002\n"}),
}


@pytest.mark.parametrize("name", LOST)
def test_gpus_that_the_driver_does_not_have(name: str, tmp_path: Path) -> None:
    manifest, addresses = LOST[name]
    gpu = read_gpu(OwnMachine(manifest, tmp_path), lambda _warning: None)
    assert gpu is not None
    assert [(fault.kind, fault.device) for fault in gpu.faults] == [("driver", address) for address in addresses]


def test_a_tool_that_cannot_run_explains_nothing_if_another_works(tmp_path: Path) -> None:
    answers = {"amd-smi list": BROKEN_TOOL, "rocm-smi --showid": {"rc": 0, "stdout": "GPU[0]"}}
    gpu = read_gpu(OwnMachine({**with_device(), "commands": answers}, tmp_path), lambda _warning: None)
    assert gpu is not None
    assert [fault.words for fault in gpu.faults] == [ABSENT]


def test_the_words_are_those_of_a_tool(tmp_path: Path) -> None:
    answer = {"rc": 1, "stderr": "Driver not initialized (amdgpu not found in modules)\n"}
    manifest = {**without_kfd(), "commands": {"amd-smi list": answer}}
    gpu = read_gpu(OwnMachine(manifest, tmp_path), lambda _warning: None)
    assert gpu is not None
    assert {"amdgpu not found in modules" in fault.words for fault in gpu.faults} == {True}


@pytest.mark.parametrize("name", WHOLE)
def test_machines_where_none_is_missing(name: str, tmp_path: Path) -> None:
    gpu = read_gpu(OwnMachine(WHOLE[name], tmp_path), lambda _warning: None)
    assert gpu is not None
    assert gpu.faults == []
