# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs of a node a rank sees, by the variables that CUDA, HIP and ROCr read.

| variable | read by | an entry is | an empty value | a bad entry | a repeated one |
|---|---|---|---|---|---|
| CUDA_VISIBLE_DEVICES | CUDA | index, or beginning of a UUID (GPU-, MIG-) | no GPU | ends the list | empties the list |
| ROCR_VISIBLE_DEVICES | ROCr, first | index, or beginning of a UUID (GPU-) | no GPU | ends the list | ends the list |
| HIP_VISIBLE_DEVICES | HIP, of those that ROCr has | index, or UUID | as if not set | ends the list | counts once |
| CUDA_VISIBLE_DEVICES | HIP, if HIP_VISIBLE_DEVICES is empty | the same | as if not set | ends the list | counts once |
| GPU_DEVICE_ORDINAL | OpenCL alone | | | | |

NVIDIA's CUDA C++ Programming Guide ("Environment Variables"), torch.cuda (_parse_visible_devices);
amd_filter_device.cpp of ROCR-Runtime, rocdevice.cpp of clr. A process sees one MIG device at most, and then no other
GPU (NVIDIA's MIG User Guide, "Device Enumeration").
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu

CUDA, HIP, ROCR = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
_IS_UUID = re.compile("(?:GPU|MIG)-", re.IGNORECASE)
_NUMBER = re.compile(r"\+?([0-9]{1,9})", re.ASCII)
_ROCR_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9}", re.ASCII)
_HIP_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)

Find = Callable[[str, Sequence[Device]], int | None]


def visible(gpu: Gpu, values: Mapping[str, Any]) -> list[Device]:
    """Return the GPUs that a rank with these variables sees, in its order."""
    devices = gpu.devices if len({_place(device) for device in gpu.devices}) == gpu.count else []
    devices = devices or [Device(index) for index in range(gpu.count)]
    set_values = {name: str(values[name]) for name in (CUDA, HIP, ROCR) if values.get(name) is not None}
    if not any(device.uuid for device in devices):
        # Without a tool no UUID is known, and those that users name count as they are.
        entries = (entry.strip() for value in set_values.values() for entry in value.split(","))
        named = dict.fromkeys(filter(_IS_UUID.match, entries))
        uuids = [*named, *itertools.repeat(None, len(devices))]
        devices = [dataclasses.replace(device, uuid=uuid) for device, uuid in zip(devices, uuids, strict=False)]
    if gpu.vendor == "amd":
        return _of_rocm(devices, set_values)
    return _of_cuda(devices, set_values.get(CUDA))


def _place(device: Device) -> str | int:
    """Return what partitions of one NVIDIA GPU have in common."""
    return device.pci_address or device.index if device.partition else device.index


def _of_cuda(devices: Sequence[Device], value: str | None) -> list[Device]:
    # An index counts whole GPUs, a UUID may name a partition.
    whole = list({device.pci_address or device.index: device for device in reversed(devices)}.values())[::-1]
    if value is None:
        chosen = list(devices)
    else:
        chosen = []
        for device in _entries(value, lambda entry, _devices: _find_cuda(entry.strip(), devices, whole), devices):
            if device in chosen:
                return []
            chosen.append(device)
    partitions = [device for device in chosen if device.partition]
    return partitions[:1] or chosen


def _find_cuda(entry: str, devices: Sequence[Device], whole: Sequence[Device]) -> int | None:
    number = _NUMBER.match(entry)
    if number:
        return devices.index(whole[int(number.group(1))]) if int(number.group(1)) < len(whole) else None
    return _find_uuid(entry, devices)


def _of_rocm(devices: Sequence[Device], values: Mapping[str, str]) -> list[Device]:
    rocr = values.get(ROCR)
    if rocr is not None:
        devices = _until_repeated(_entries(rocr, _find_rocr, devices, len(devices)))
    value = values.get(HIP) or values.get(CUDA)
    return list(dict.fromkeys(_entries(value, _find_hip, devices))) if value else list(devices)


def _find_rocr(entry: str, devices: Sequence[Device]) -> int | None:
    entry = entry.strip()
    if _ROCR_NUMBER.fullmatch(entry):
        return int(
            entry, 16 if entry[:2] in ("0x", "0X") else 8 if entry[0] == "0" and not set(entry) & {*"89"} else 10
        )
    return _find_uuid(entry, devices)


def _find_hip(entry: str, devices: Sequence[Device]) -> int | None:
    if _HIP_NUMBER.fullmatch(entry):
        return int(entry)
    return next((place for place, device in enumerate(devices) if device.uuid == entry), None)


def _find_uuid(entry: str, devices: Sequence[Device]) -> int | None:
    """Return the place of the only device whose UUID begins like this."""
    if not _IS_UUID.match(entry):
        return None
    places = [place for place, item in enumerate(devices) if (item.uuid or "").upper().startswith(entry.upper())]
    return places[0] if len(places) == 1 else None


def _entries(value: str, find: Find, devices: Sequence[Device], most: int | None = None) -> Iterator[Device]:
    """Yield the device of each entry, until one is bad."""
    for entry in value.split(",")[:most]:
        place = find(entry, devices)
        if place is None or place >= len(devices):
            return
        yield devices[place]


def _until_repeated(devices: Iterator[Device]) -> list[Device]:
    chosen: list[Device] = []
    for device in devices:
        if device in chosen:
            break
        chosen.append(device)
    return chosen
