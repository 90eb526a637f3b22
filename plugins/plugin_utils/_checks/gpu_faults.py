# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the GPUs of a node work? What their driver or its tool answers instead of a list, and what to do about it."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, GpuFault

from .._findings.finding import Finding
from .._findings.remedy import RESET_GPU

CHECK = "gpus"
UNKNOWN = "unknown"
DRIVER = {
    "nvidia": "load the driver (modprobe nvidia), or install the one of this kernel; dmesg says why it does not load",
    "amd": "load the driver (modprobe amdgpu); if it fails (dmesg: device_ip_init, PSP), power the node off and on",
}
RESTART = "restart the node; if it happens again, power it off, reseat or replace the GPU (dmesg: Xid 79)"
REMEDIES = {
    "versions": "restart the node, or unload and load the driver's modules: the driver was updated while it was loaded",
    "lost": RESTART,
    "reset": RESET_GPU,
    "none": "look at dmesg for NVRM (RmInitAdapter failed, GSP); restart the node, or power it off",
    "denied": "give this user the device nodes (/dev/nvidia*; the group that owns them, often video or render)",
    "hangs": "look for processes in state D and for NVRM in dmesg, and restart the node",
    "other": "run nvidia-smi there and look at dmesg for NVRM; restart the container, or else the node",
    UNKNOWN: "install the tool of this driver there, or give the container the capability utility",
}
ON_CPUS = "; for a run on CPUs set CUDA_VISIBLE_DEVICES to an empty value in launch_env"


def find_faults(node: str, gpu: Gpu) -> list[Finding]:
    """Find GPUs that do not work, and those of which it is not known; the words are those of the driver or its tool."""
    return [_finding(node, gpu, fault) for fault in gpu.faults]


def _finding(node: str, gpu: Gpu, fault: GpuFault) -> Finding:
    if fault.kind == UNKNOWN:
        observed = f"it is not known whether the {gpu.count} GPUs work: {fault.source}: {fault.words}"
        return Finding(CHECK, node, "warn", observed, "a tool that lists them", fault.source, REMEDIES[UNKNOWN])
    observed = f"{_subject(gpu, fault)} not work: {fault.source}: {fault.words}"
    remedy = DRIVER[gpu.vendor or "nvidia"] if fault.kind == "driver" else REMEDIES.get(fault.kind, REMEDIES["other"])
    expected = "GPUs that answer their driver"
    return Finding(CHECK, node, "fail", observed, expected, fault.source, remedy if gpu.count else remedy + ON_CPUS)


def _subject(gpu: Gpu, fault: GpuFault) -> str:
    if fault.is_about_all:
        return "the GPUs do"
    if fault.device is None:
        return f"GPU {fault.index} does"
    index = next((device.index for device in gpu.devices if device.pci_address == fault.device), None)
    return f"GPU {fault.device} does" if index is None else f"GPU {index} ({fault.device}) does"
