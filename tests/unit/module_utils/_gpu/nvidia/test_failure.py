# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU stack that does not answer, told from a tool that cannot run and from GPUs that work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import devices
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, GpuFault
from ansible_collections.muster.train.tests.support.nvidia_machines import (
    EVERYTHING,
    QUERY,
    TOPOLOGY,
    VERSIONS,
    machine,
    row,
)
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine

CALLS = (QUERY, TOPOLOGY, VERSIONS, EVERYTHING)
HANDLE = "Unable to determine the device handle for GPU1: 0000:2C:00.0: "
OTHER_HANDLE = "Unable to determine the device handle for GPU 0000:AE:00.0: "
NVML = "Failed to initialize NVML: "


def printing(text: str, rc: int, calls: Sequence[str] = CALLS, stream: str = "stdout") -> dict[str, Any]:
    """The machine whose nvidia-smi prints this instead of an answer to these calls."""
    made = machine()
    return {**made, "commands": {**made["commands"], **{call: {"rc": rc, stream: text} for call in calls}}}


def rows(*lines: str, rc: int = 0) -> dict[str, Any]:
    return printing("\n".join(lines) + "\n", rc, [QUERY])


def read(manifest: dict[str, Any], root: Path, hangs: Sequence[str] = ()) -> Gpu:
    return devices.read(OwnMachine(manifest, root, hangs), lambda _warning: None)


HEALTHY = [row(index) for index in range(4)]
BROKEN: dict[str, tuple[dict[str, Any], list[tuple[str, str | None]]]] = {
    "one GPU is gone, and every call fails": (
        printing(f"{HANDLE}Unknown Error\n", 255),
        [("lost", "0000:2c:00.0")],
    ),
    "one GPU needs a reset": (
        printing(f"{OTHER_HANDLE}GPU requires reset\n", 1),
        [("reset", "0000:ae:00.0")],
    ),
    "the driver was updated": (printing(f"{NVML}Driver/library version mismatch\n", 18), [("versions", None)]),
    "the newer words of it": (
        printing(f"{NVML}Driver/library version mismatch\nNVML library version: 570.86\n", 18),
        [("versions", None)],
    ),
    "no driver": (
        printing("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9),
        [("driver", None)],
    ),
    "no driver, on stderr": (printing("NVIDIA driver is not loaded\n", 9, stream="stderr"), [("driver", None)]),
    "no device": (printing("No devices were found\n", 6), [("none", None)]),
    "no device, without an exit code": (printing("No devices were found\n", 0), [("none", None)]),
    "a container that lost its devices": (printing(f"{NVML}Unknown Error\n", 255), [("other", None)]),
    "no permission": (printing(f"{NVML}Insufficient Permissions\n", 4), [("denied", None)]),
    "one of four is not listed": (
        rows(HEALTHY[0], *HEALTHY[2:], f"{HANDLE}Unknown Error", rc=255),
        [("lost", "0000:2c:00.0")],
    ),
    "a field without a value": (
        rows(*HEALTHY[:3], row(3, memory="[Unknown Error]")),
        [("other", "0000:ae:00.0")],
    ),
    "a field with ERR!": (rows(row(0, memory="ERR!"), *HEALTHY[1:]), [("other", "0000:1b:00.0")]),
    "a word of no consequence before one that has some": (
        rows(row(0, name="[Function Not Found]", memory="[GPU requires reset]"), *HEALTHY[1:]),
        [("reset", "0000:1b:00.0")],
    ),
    "a row of a lost GPU": (
        rows(*HEALTHY[:2], row(2, name="[GPU is lost]", memory="[GPU is lost]"), HEALTHY[3]),
        [("lost", "0000:9d:00.0")],
    ),
    "two of four are not listed, and one of them is not even named": (
        rows(HEALTHY[0], HEALTHY[2], f"{HANDLE}Unknown Error", rc=255),
        [("lost", "0000:2c:00.0")],
    ),
    "two of four are not listed": (
        rows(HEALTHY[0], f"{HANDLE}Unknown Error", HEALTHY[2], f"{OTHER_HANDLE}GPU requires reset", rc=255),
        [("lost", "0000:2c:00.0"), ("reset", "0000:ae:00.0")],
    ),
    "one needs a reset, another is not listed": (
        rows(*HEALTHY[:2], row(2, memory="[GPU requires reset]")),
        [("reset", "0000:9d:00.0")],
    ),
    "the driver does not load": (
        {
            **printing("couldn't communicate with the NVIDIA driver\n", 9),
            "files": machine(openable=[], proc=False)["files"],
        },
        [("driver", None)],
    ),
}
WORKING: dict[str, dict[str, Any]] = {
    "all is well": machine(),
    "a warning beside the rows": rows(*HEALTHY, "WARNING: infoROM is corrupted at gpu 0000:2C:00.0", rc=14),
    "values that a GPU does not have": rows(*(row(index, memory="[N/A]", mig="[Not Supported]") for index in range(4))),
    "an owner who may not see the mode": rows(*(row(index, mig="[Insufficient Permissions]") for index in range(4))),
    "a driver without the field": rows(*(row(index, mig="[Function Not Found]") for index in range(4))),
    "a field that is no longer there": rows(
        *(row(index, mig="[Requested functionality has been deprecated]") for index in range(4))
    ),
    "no GPU for this container, whose tool finds none": {
        "files": {"/dev/null": ""},
        "commands": {call: {"rc": 6, "stdout": "No devices were found\n"} for call in CALLS},
    },
    "only the bus shows GPUs, and there is no tool": machine(openable=[], tool=False, proc=False),
    "a recording of the table alone": {
        **machine(),
        "commands": {TOPOLOGY: machine()["commands"][TOPOLOGY]},
    },
}
NOT_KNOWN: dict[str, dict[str, Any]] = {
    "no tool": machine(tool=False),
    "a container without the library": printing(
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", 12
    ),
    "a tool that cannot be loaded": printing(
        "nvidia-smi: error while loading shared libraries: libm.so.6\n", 127, stream="stderr"
    ),
    "a wrapper without a program": printing("sh: nvidia-smi-570: command not found\n", 127, stream="stderr"),
    "a tool that crashes": printing("", -11),
}


@pytest.mark.parametrize("name", BROKEN)
def test_gpus_that_do_not_work(name: str, tmp_path: Path) -> None:
    manifest, faults = BROKEN[name]
    assert [(fault.kind, fault.device) for fault in read(manifest, tmp_path).faults] == faults


@pytest.mark.parametrize("name", WORKING)
def test_gpus_that_work(name: str, tmp_path: Path) -> None:
    assert read(WORKING[name], tmp_path).faults == []


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_gpus_of_which_it_is_not_known(name: str, tmp_path: Path) -> None:
    gpu = read(NOT_KNOWN[name], tmp_path)
    assert (gpu.count, [fault.kind for fault in gpu.faults]) == (4, ["unknown"])


def test_a_tool_that_hangs(tmp_path: Path) -> None:
    assert [fault.kind for fault in read(machine(), tmp_path, ["nvidia-smi"]).faults] == ["hangs"]


def test_words_that_may_mean_anything_are_passed_on(tmp_path: Path) -> None:
    warnings: list[str] = []
    words = [row(index, mig="[Function Not Found]" if index else "[Other]") for index in range(4)]
    devices.read(OwnMachine(rows(*words), tmp_path), warnings.append)
    assert len(warnings) == 2


def test_rows_are_no_fault_though_there_are_few(tmp_path: Path) -> None:
    manifest = rows(*HEALTHY[:3], "WARNING: infoROM is corrupted")
    manifest["commands"][TOPOLOGY] = {"rc": 1}
    gpu = read(manifest, tmp_path)
    assert (gpu.count, len(gpu.devices), gpu.faults) == (4, 3, [])


def test_a_row_without_an_address_has_an_index(tmp_path: Path) -> None:
    lost = ", ".join(["2", *["[GPU is lost]"] * 5, "570.124.06"])
    assert read(rows(*HEALTHY[:2], lost, HEALTHY[3]), tmp_path).faults == [
        GpuFault("lost", "GPU is lost", "nvidia-smi", index=2)
    ]


class SlowMachine(OwnMachine):
    """Its driver is loaded in each call, which takes longer than the usual limit."""

    def run(self, argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
        return super().run(argv, timeout, cwd) if timeout > 10 else CommandResult(None, "", "", timed_out=True)


def test_a_slow_tool_is_no_broken_one(tmp_path: Path) -> None:
    warnings: list[str] = []
    gpu = devices.read(SlowMachine(machine(), tmp_path), warnings.append)
    assert (gpu.count, len(gpu.devices), gpu.faults) == (4, 4, [])
    assert warnings


def test_a_gpu_that_left_the_bus(tmp_path: Path) -> None:
    manifest = machine()
    host = OwnMachine(manifest, tmp_path)
    for address, bits in (("0000:1b:00.0", b"\xde\x10\x30\x23"), ("0000:2c:00.0", b"\xff" * 4)):
        place = Path(host.here(f"/sys/bus/pci/devices/{address}"))
        (place / "config").write_bytes(bits * 16)
    gpu = devices.read(host, lambda _warning: None)
    assert [(fault.kind, fault.device) for fault in gpu.faults] == [("lost", "0000:2c:00.0")]
