# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests of machines with NVIDIA GPUs, made as their drivers print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

QUERY = (
    "nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,memory.total,mig.mode.current,driver_version "
    "--format=csv,noheader,nounits"
)
TOPOLOGY = "nvidia-smi topo -m"
VERSIONS = "nvidia-smi -q -d COMPUTE"
EVERYTHING = "nvidia-smi -q -x"
LIST = "nvidia-smi -L"
NAME = "NVIDIA H100 80GB HBM3"
DRIVER, CUDA = "570.124.06", "12.8"
# Two switches of two GPUs and one NIC each, one on each socket.
BUSES = ("1b", "2c", "9d", "ae")
LOG = f"""
==============NVSMI LOG==============

Timestamp                                 : Mon Nov 30 10:00:00 2026
Driver Version                            : {DRIVER}
CUDA Version                              : {CUDA}

Attached GPUs                             : 4
GPU 00000000:1B:00.0
    Compute Mode                          : Default
"""
DRIVER_DOWN = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)


def uuid(index: int) -> str:
    return f"GPU-{index:08x}-1111-2222-3333-444444444444"


def row(index: int, **other: str) -> str:
    values = {"name": NAME, "memory": "81559", "mig": "Disabled", **other}
    bus = BUSES[index].upper()
    return (
        f"{index}, {values['name']}, {uuid(index)}, 00000000:{bus}:00.0, {values['memory']}, {values['mig']}, {DRIVER}"
    )


def table(words: dict[tuple[int, int], str] | None = None) -> str:
    """topo -m of the four GPUs and two NICs; words are the pairs that are not NV18."""
    words = words or {}
    lines = ["\t\x1b[4m" + "\t".join(["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1"])]
    lines[0] += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m"
    for a in range(4):
        cells = [" X " if a == b else words.get((min(a, b), max(a, b)), "NV18") for b in range(4)]
        cells += ["PIX" if a // 2 == nic else "SYS" for nic in range(2)]
        lines.append("\t".join([f"GPU{a}", *cells, ("0-31", "32-63")[a // 2], str(a // 2), "", "N/A"]))
    for nic in range(2):
        cells = ["PIX" if a // 2 == nic else "SYS" for a in range(4)] + [" X ", "SYS"][:: 1 - 2 * nic]
        lines.append("\t".join([f"NIC{nic}", *cells, "", "", ""]))
    legend = "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    return "\n".join(lines) + legend + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"


def machine(openable: Sequence[int] = range(4), tool: bool = True, proc: bool = True) -> dict[str, Any]:
    """Four GPUs and two HCAs below four switches of two sockets."""
    files: dict[str, str] = {f"/dev/nvidia{minor}": "" for minor in openable}
    files |= {"/dev/nvidiactl": "", "/dev/nvidia-uvm": ""}
    links = {}
    devices = [(f"0000:{bus}:00.0", index // 2, "0x10de", "0x030200") for index, bus in enumerate(BUSES)]
    devices += [("0000:1a:00.0", 0, "0x15b3", "0x020700"), ("0000:9c:00.0", 1, "0x15b3", "0x020700")]
    for number, (address, socket, vendor, kind) in enumerate(devices):
        # Root port, upstream port of the switch, one downstream port for each device.
        bus, up, down = (("15", "16", "17"), ("97", "98", "99"))[socket]
        path = f"/sys/devices/pci0000:{bus}/0000:{bus}:01.0/0000:{up}:00.0/0000:{down}:{number:02x}.0"
        files |= {
            f"{path}/{address}/vendor": f"{vendor}\n",
            f"{path}/{address}/class": f"{kind}\n",
            f"{path}/{address}/numa_node": f"{socket}\n",
        }
        links[f"/sys/bus/pci/devices/{address}"] = f"../../../..{path}/{address}"
    links["/sys/class/infiniband/mlx5_0/device"] = "../../../bus/pci/devices/0000:1a:00.0"
    links["/sys/class/infiniband/mlx5_1/device"] = "../../../bus/pci/devices/0000:9c:00.0"
    for index, bus in enumerate(BUSES if proc else ()):
        files[f"/proc/driver/nvidia/gpus/0000:{bus}:00.0/information"] = (
            f"Model: \t\t {NAME}\nIRQ:   \t\t 42\nGPU UUID: \t {uuid(index)}\nBus Type: \t PCIe\n"
            f"Bus Location: \t 0000:{bus}:00.0\nDevice Minor: \t {index}\nGPU Excluded:\t No\n"
        )
    if proc:
        files["/proc/driver/nvidia/version"] = (
            f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build  (root@host)  Mon Feb\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
        )
    commands = {
        QUERY: {"rc": 0, "stdout": "".join(row(index) + "\n" for index in range(4))},
        TOPOLOGY: {"rc": 0, "stdout": table()},
        VERSIONS: {"rc": 0, "stdout": LOG},
    }
    return {"files": files, "links": links, "commands": commands if tool else {}}
