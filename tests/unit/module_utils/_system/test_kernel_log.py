# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's log: what it says of GPUs and adapters, and who may not read it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.health import KernelError, KernelLog
from ansible_collections.muster.train.plugins.module_utils._system.kernel_log import (
    ERROR_LIMIT,
    JOURNAL,
    Line,
    errors_of,
    parse_dmesg,
    parse_journal,
    read_kernel_log,
)
from ansible_collections.muster.train.plugins.module_utils._system.kernel_messages import parse_error
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"
RAS = "amdgpu 0000:c1:00.0: amdgpu: socket: 0, die: 0, 3 new uncorrectable hardware errors detected in umc block"
SLOW = (
    "mlx5_core 0000:81:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at 0000:80:01.1 "
    "(capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
)
BORING = [
    "Linux version 6.8.0-45-generic (buildd@lcy02)",
    "mlx5_core 0000:81:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    "amdgpu 0000:c1:00.0: amdgpu: 0 uncorrectable hardware errors detected in gfx block",
    "amdgpu 0000:c1:00.0: amdgpu: 12 correctable hardware errors detected in umc block",
    "nvidia-nvswitch3: open (major=510)",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.124.06",
    "mlx5_core 0000:81:00.0: Port module event: module 0, Cable plugged",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
    "nvidia-nvlink: Unregistered Nvlink Core, major device number 510",
    "NVRM: GPU 0000:3b:00.0: UVM fault buffer of GSP client is enabled",
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!",
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) succeeded!",
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset end with ret = 0",
    "amdgpu 0000:c1:00.0: [drm] device wedged, but recovered through reset",
    "amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0",
    "nvidia 0000:3b:00.0: probe of device done",
    "usb 1-2: device descriptor read/64, error -110: timeout",
]
JOURNALCTL = shlex.join(JOURNAL)


def journal(*entries: dict[str, object]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def entry(message: object, micros: object = "1500000") -> dict[str, object]:
    return {"MESSAGE": message, "_SOURCE_MONOTONIC_TIMESTAMP": micros, "__MONOTONIC_TIMESTAMP": "9"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (XID, ("xid", 79, "0000:3b:00.0")),
        ("NVRM: Xid (0000:0a:00): 31, Ch 0000001c, intr 10000000.", ("xid", 31, "0000:0a:00.0")),
        ("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT", ("xid", 149, "0009:01:00.0")),
        (SXID, ("sxid", 12028, "0000:c1:00.0")),
        (RAS, ("ras", None, "0000:c1:00.0")),
        (
            "amdgpu 0000:c1:00.0: amdgpu: 1 uncorrectable hardware errors detected in total in gfx",
            ("ras", None, "0000:c1:00.0"),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 63, pid=77, Row Remapper: New row (0x1) marked for remapping, reset gpu to "
            "activate.",
            ("remap", None, "0000:3b:00.0"),
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 63, Dynamic Page Retirement: New page retired", ("xid", 63, "0000:3b:00.0")),
        ("NVRM: GPU 0000:4f:00.0: GPU has fallen off the bus.", ("bus", None, "0000:4f:00.0")),
        ("NVRM: GPU at 0000:4f:00 has fallen off the bus.", ("bus", None, "0000:4f:00.0")),
        (
            "NVRM: The NVIDIA GPU 0000:01:00.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\nNVRM: "
            "fallen off the bus and is not responding to commands.".replace("\n", " "),
            ("bus", None, "0000:01:00.0"),
        ),
        ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x55:1784)", ("init", None, "0000:01:00.0")),
        ("NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0", ("init", None, "0000:01:00.0")),
        ("NVRM: RmInitAdapter failed! (0x26:0x38:1084)", ("init", None, None)),
        ("NVRM: GPU0 kgspInitRm_IMPL: cannot bootstrap riscv/gsp: 0x65", ("gsp", None, None)),
        ("NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP", ("gsp", None, None)),
        ("NVRM: GPU0 knvlinkCoreGetRemoteDeviceInfo: Link training failed on link 3", ("nvlink", None, None)),
        ("nvidia-nvlink: Fatal error on link 4", ("nvlink", None, None)),
        (
            "amdgpu 0000:83:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
            ("ras", None, "0000:83:00.0"),
        ),
        ("amdgpu 0000:83:00.0: amdgpu: amdgpu_device_ip_init failed", ("init", None, "0000:83:00.0")),
        ("amdgpu 0000:83:00.0: amdgpu: Fatal error during GPU init", ("init", None, "0000:83:00.0")),
        ("amdgpu: probe of 0000:83:00.0 failed with error -22", ("init", None, "0000:83:00.0")),
        ("amdgpu 0000:83:00.0: amdgpu: device lost from bus!", ("bus", None, "0000:83:00.0")),
        ("amdgpu 0000:83:00.0: amdgpu: GPU reset end with ret = -110", ("reset failed", None, "0000:83:00.0")),
        ("amdgpu 0000:83:00.0: amdgpu: GPU reset(3) failed", ("reset failed", None, "0000:83:00.0")),
        (
            "amdgpu 0000:83:00.0: amdgpu: ring sdma0 timeout, signaled seq=12, emitted seq=14",
            ("ring", None, "0000:83:00.0"),
        ),
        (
            "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, signaled seq=1, emitted seq=2",
            ("ring", None, None),
        ),
        (SLOW, ("mlx5", None, "0000:81:00.0")),
        (
            "mlx5_core 0000:81:00.1: mlx5_pcie_event:301:(pid 9): Detected insufficient power on the PCIe slot (27W).",
            ("mlx5", None, "0000:81:00.1"),
        ),
        (
            "mlx5_core 0000:81:00.1: Port module event[error]: module 1, Cable error, High Temperature",
            ("mlx5", None, "0000:81:00.1"),
        ),
    ],
)
def test_lines_with_an_error(text: str, expected: tuple[str, int | None, str]) -> None:
    assert parse_error(text, 1.5) == KernelError(*expected, text=text, monotonic_s=1.5)


@pytest.mark.parametrize("text", BORING)
def test_lines_without_an_error(text: str) -> None:
    assert parse_error(text, 1.5) is None


def test_lines_of_a_kind_are_one() -> None:
    lines = [Line(float(second), XID + f" {second}") for second in range(5)] + [Line(9.0, SXID)]
    assert errors_of(lines) == [
        KernelError("xid", 79, "0000:3b:00.0", XID + " 0", 4.0, 5),
        KernelError("sxid", 12028, "0000:c1:00.0", SXID, 9.0, 1),
    ]
    storm = [Line(None, f"NVRM: Xid (PCI:0000:3b:00): {code}, x") for code in range(ERROR_LIMIT * 2)]
    assert len(errors_of(storm)) == ERROR_LIMIT


RESET = "amdgpu 0000:c1:00.0: amdgpu: GPU reset(1) succeeded!"
LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([RAS, RESET], {"ras": 1.0}),
        ([RESET, RAS], {"ras": None}),
        ([RAS, RESET, RAS], {"ras": None}),
        ([RAS, RESET.replace("c1", "c6")], {"ras": None}),
        ([LOADED, XID, "nvidia 0000:3b:00.0: reset done"], {"xid": 2.0}),
        ([XID, RAS, SLOW, LOADED], {"xid": 3.0, "ras": None, "mlx5": None}),
    ],
)
def test_whether_the_gpu_was_reset_since(texts: list[str], expected: dict[str, float | None]) -> None:
    errors = errors_of([Line(float(second), text) for second, text in enumerate(texts)])
    assert {error.kind: error.reset_s for error in errors} == expected


def test_journal() -> None:
    text = journal(
        entry(BORING[0]), entry(XID), entry(list(SXID.encode() + b"\xff"), None), {"MESSAGE": None, "x": "Xid"}
    )
    assert parse_journal("-- No entries --\n" + text + '{"MESSAGE": "Xid\n') == [
        Line(None, ""),
        Line(1.5, XID),
        Line(9e-06, SXID + "\ufffd"),
        Line(None, ""),
        Line(None, ""),
    ]


def test_dmesg() -> None:
    assert parse_dmesg("[    0.000000] Linux version\n<4>[12345.678901] a b\nno time\n[x] y\n[    1.5]\n") == [
        Line(0.0, "Linux version"),
        Line(12345.678901, "a b"),
        Line(1.5, ""),
    ]


def test_the_journal_first(tmp_path: Path) -> None:
    commands = {JOURNALCTL: answer(journal(entry(BORING[0]), entry(XID))), "dmesg": answer("[    0.000000] x\n")}
    result = read_kernel_log(OwnMachine({"commands": commands}, tmp_path))
    assert result == KernelLog(True, None, [KernelError("xid", 79, "0000:3b:00.0", XID, 1.5)], "journalctl", True)


@pytest.mark.parametrize(("first", "complete"), [("0.000000", True), ("9312.551321", False)])
def test_the_ring_where_there_is_no_journal(tmp_path: Path, first: str, complete: bool) -> None:
    ring = f"[{first:>12}] {BORING[0]}\n[ 9999.250000] {RAS}\n"
    # A user who may not read the journal of the system gets an empty answer, and no error.
    host = OwnMachine({"commands": {JOURNALCTL: answer(), "dmesg": answer(ring)}}, tmp_path)
    assert read_kernel_log(host) == KernelLog(
        True, None, [KernelError("ras", None, "0000:c1:00.0", RAS, 9999.25)], "dmesg", complete
    )


def test_nothing_wrong(tmp_path: Path) -> None:
    host = OwnMachine({"commands": {JOURNALCTL: answer(journal(*map(entry, BORING)))}}, tmp_path)
    assert read_kernel_log(host) == KernelLog(True, None, [], "journalctl", True)


# What commands answer, and which of them hang.
CLOSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a user who may read neither journal nor ring": (
        {
            JOURNALCTL: answer("", "No journal files were opened due to insufficient permissions.\n", 1),
            "dmesg": answer("", "dmesg: read kernel buffer failed: Operation not permitted\n", 1),
        },
        [],
    ),
    "no output": ({JOURNALCTL: answer(), "dmesg": answer("\n")}, []),
    "no commands": ({}, []),
    "commands that hang": ({}, ["journalctl", "dmesg"]),
}


@pytest.mark.parametrize(("commands", "hangs"), CLOSED.values(), ids=CLOSED)
def test_who_may_not_read_it_does_not_know(tmp_path: Path, commands: dict[str, Any], hangs: list[str]) -> None:
    result = read_kernel_log(OwnMachine({"commands": commands}, tmp_path, hangs))
    assert result is not None and result.why
    assert result == KernelLog(False, result.why)


def test_as_root(tmp_path: Path) -> None:
    host = OwnMachine({"commands": {f"sudo -n {JOURNALCTL}": answer(journal(entry(XID)))}}, tmp_path)
    result = read_kernel_log(host, ["sudo", "-n"])
    assert result is not None and [error.code for error in result.errors] == [79]


def test_a_tree_has_none(tmp_path: Path) -> None:
    host = Machine({"commands": {"dmesg": answer(f"[    0.000000] {XID}\n")}}, tmp_path)
    assert read_kernel_log(host) is None
    assert host.commands_run == []
