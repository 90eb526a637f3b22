# SPDX-License-Identifier: GPL-3.0-or-later
"""Which broken GPUs stop a launch: those that its ranks would use."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, GpuFault
from ansible_collections.muster.train.plugins.plugin_utils._checks.gpu import gpus
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.tests.support.preflight_parts import facts_of

CUDA, HIP = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"
FOUR = [Device(index, "H100", f"GPU-{index}", f"0000:{index:02x}:00.0", 0, 81559) for index in range(4)]
WORDS = ("lost", "GPU is lost", "nvidia-smi")


def nvidia(*faults: GpuFault, devices: list[Device] = FOUR) -> Gpu:
    return Gpu("nvidia", 4, devices=devices, faults=list(faults))


LISTED = nvidia(GpuFault(*WORDS, "0000:02:00.0"))
WITHOUT_ADDRESS = nvidia(GpuFault(*WORDS, index=2), devices=[*FOUR[:2], Device(2), FOUR[3]])
# Its driver does not have the fifth.
AMD = Gpu("amd", 4, devices=FOUR, faults=[GpuFault("driver", "KFD does not have it", "/sys/class/kfd", "0000:f5:00.0")])
NOT_LOADED = dataclasses.replace(AMD, count=0, devices=[])
PARTITIONS = [Device(index, "MI300X", None, f"0000:05:00.{index}", partition="CPX") for index in range(4)]
GONE = Gpu("amd", 4, devices=PARTITIONS, faults=[GpuFault("lost", "ones only", "config", "0000:05:00.0")])


def judged(gpu: Gpu, env: dict[str, str]) -> list[str]:
    machine = Node.from_facts("node0", facts_of("hgx_h100_roce", 0), layers=[(env, LAUNCH_NODE_ENV)])
    node = dataclasses.replace(machine, gpu=gpu)
    return [outcome.status for _name, outcome in gpus(Cluster({"node0": node}))]


@pytest.mark.parametrize(
    ("gpu", "env", "status"),
    [
        (LISTED, {}, "fail"),
        (LISTED, {CUDA: "0,1"}, "pass"),
        (LISTED, {CUDA: "2"}, "fail"),
        (LISTED, {CUDA: ""}, "pass"),
        (WITHOUT_ADDRESS, {}, "fail"),
        (WITHOUT_ADDRESS, {CUDA: "0,1"}, "pass"),
        (WITHOUT_ADDRESS, {CUDA: "1,2"}, "fail"),
        (AMD, {}, "fail"),
        (AMD, {HIP: "0,1"}, "pass"),
        (AMD, {HIP: ""}, "fail"),
        (GONE, {HIP: "1"}, "fail"),
        (NOT_LOADED, {HIP: "0,1"}, "fail"),
        # Which GPUs these are is not known.
        (nvidia(GpuFault(*WORDS, "0000:02:00.0"), devices=FOUR[:2]), {CUDA: "0"}, "fail"),
        (nvidia(GpuFault(*WORDS)), {CUDA: "0"}, "fail"),
    ],
)
def test_a_broken_gpu_that_the_ranks_do_not_see(gpu: Gpu, env: dict[str, str], status: str) -> None:
    assert set(judged(gpu, env)) == {status}
