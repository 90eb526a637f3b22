# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs a rank sees, by CUDA's, HIP's and ROCr's own rules."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu
from ansible_collections.muster.train.plugins.plugin_utils._cluster.visible import CUDA, HIP, ROCR, visible

UUIDS = ["GPU-1a00", "GPU-1b00", "GPU-2c00", "GPU-3d00"]


def gpus(vendor: str = "nvidia", uuids: list[str] | None = None) -> Gpu:
    names = UUIDS if uuids is None else uuids
    devices = [
        Device(index, uuid=uuid or None, pci_address=f"0000:{index + 1:02x}:00.0") for index, uuid in enumerate(names)
    ]
    return Gpu(vendor, len(devices), devices=devices)


def indexes(gpu: Gpu, values: dict[str, object]) -> list[int]:
    return [device.index for device in visible(gpu, values)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        (2, [2]),
        ("3,1", [3, 1]),
        (" 0, 2 ", [0, 2]),
        ("0,-1,2", [0]),
        ("0,4,1", [0]),
        ("1,x,2", [1]),
        ("0,1,", [0, 1]),
        ("0,1,0", []),
        ("0,7,0", [0]),
        ("GPU-2c00,0", [2, 0]),
        ("GPU-2,GPU-3", [2, 3]),
        ("GPU-1", []),
        ("GPU-1a,GPU-9,GPU-3", [0]),
        ("GPU-1a,0", []),
        ("MIG-1", []),
    ],
)
def test_cuda(value: object, expected: list[int]) -> None:
    assert indexes(gpus(), {} if value is None else {CUDA: value}) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({ROCR: ""}, []),
        ({ROCR: "3,0"}, [3, 0]),
        ({ROCR: "1, 2"}, [1, 2]),
        ({ROCR: "0x2"}, [2]),
        ({ROCR: "1,2,1,3"}, [1, 2]),
        ({ROCR: "1,9,2"}, [1]),
        ({ROCR: "gpu-3d"}, [3]),
        ({ROCR: "GPU-1"}, []),
        ({HIP: "3,0"}, [3, 0]),
        ({HIP: "1,1,2"}, [1, 2]),
        ({HIP: "2,-1,3"}, [2]),
        ({HIP: "-1"}, []),
        ({HIP: "0, 1"}, [0]),
        ({HIP: ""}, [0, 1, 2, 3]),
        ({CUDA: ""}, [0, 1, 2, 3]),
        ({CUDA: "1"}, [1]),
        ({HIP: "2", CUDA: "1"}, [2]),
        ({HIP: "", CUDA: "1"}, [1]),
        ({ROCR: "3,1", HIP: "1"}, [1]),
        ({ROCR: "3,1", CUDA: "0,1,2"}, [3, 1]),
        ({ROCR: "3", HIP: "3"}, []),
        ({"GPU_DEVICE_ORDINAL": "0"}, [0, 1, 2, 3]),
    ],
)
def test_rocm(values: dict[str, object], expected: list[int]) -> None:
    assert indexes(gpus("amd"), values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["MIG-1"]),
        ({CUDA: "0"}, ["GPU-a"]),
        ({CUDA: "1"}, ["MIG-1"]),
        ({CUDA: "MIG-2"}, ["MIG-2"]),
        ({CUDA: "MIG-2,MIG-1"}, ["MIG-2"]),
        ({CUDA: "0,MIG-1"}, ["MIG-1"]),
        ({CUDA: ""}, []),
    ],
)
def test_a_process_sees_one_mig_device_and_nothing_else(values: dict[str, object], expected: list[str]) -> None:
    parts = [("GPU-a", None), ("MIG-1", "3g.40gb"), ("MIG-2", "3g.40gb")]
    devices = [
        Device(index, uuid=uuid, pci_address=f"0000:{min(index, 1):02x}:00.0", partition=part)
        for index, (uuid, part) in enumerate(parts)
    ]
    assert [device.uuid for device in visible(Gpu("nvidia", 2, devices=devices), values)] == expected


def test_uuids_that_no_tool_shows_count() -> None:
    assert len(visible(gpus(uuids=[""] * 4), {CUDA: "GPU-x, GPU-y"})) == 2
    assert len(visible(Gpu("nvidia", 4), {CUDA: "0,3"})) == 2


def test_partitions_of_rocm_are_devices() -> None:
    device = Device(0, uuid="GPU-1", partition="CPX")
    devices = [dataclasses.replace(device, index=index, pci_address=f"0000:05:00.{index}") for index in range(8)]
    assert indexes(Gpu("amd", 8, devices=devices), {HIP: "6,7"}) == [6, 7]


ENTRIES = st.lists(st.sampled_from(["0", "1", "2", "3", "4", "-1", "", "x", *UUIDS, "GPU-1", "MIG-1"]), max_size=6)
VALUES = st.dictionaries(st.sampled_from([CUDA, HIP, ROCR]), ENTRIES.map(",".join))


@given(st.sampled_from(["nvidia", "amd"]), VALUES)
def test_each_is_a_gpu_of_the_node_and_there_once(vendor: str, values: dict[str, str]) -> None:
    chosen = indexes(gpus(vendor), dict(values))
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= {0, 1, 2, 3}


@given(st.sampled_from([("nvidia", CUDA), ("amd", HIP), ("amd", ROCR)]), st.permutations(range(4)), st.integers(1, 4))
def test_good_indexes_are_the_order(reader: tuple[str, str], order: list[int], count: int) -> None:
    vendor, name = reader
    value = ",".join(map(str, order[:count]))
    assert indexes(gpus(vendor), {name: value}) == order[:count]
    assert indexes(gpus(vendor), {name: f"{value},9,{order[0]}"}) == order[:count]
