# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses which GPU, and which of them share a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.devices import read_gpu
from ansible_collections.muster.train.plugins.module_utils._gpu.health import read_gpu_health
from ansible_collections.muster.train.plugins.module_utils._system.gpu_processes import USERS, read_gpu_processes
from ansible_collections.muster.train.plugins.plugin_utils._detect.gpus_in_use import GpuInUse, gpus_of
from ansible_collections.muster.train.plugins.plugin_utils._detect.gpus_text import MOST_ROWS, lines_of
from ansible_collections.muster.train.tests.support import gpu_parts, nvidia_machines
from ansible_collections.muster.train.tests.support.gpu_parts import address, gpu_facts, node_of, other, rank
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer

SCREENS = {
    "128 nodes": gpu_parts.mixed_cluster(128),
    "few": [node_of("n1", gpu_facts([rank(0), other(1), other(1, user=None, uid=None)], count=3))],
    "in trouble": [node_of("n1", gpu_facts(None, count=1, trouble="GPU is lost", load_percent=None))],
    "AMD": [node_of("n1", gpu_facts([{**rank(0), "device": "/dev/kfd"}], count=2, name="AMD Instinct MI300X"))],
    "no GPU": [node_of("n1", gpu_facts(count=0)), node_of("n2", gpu_facts(count=0))],
    "closed or not known": [
        node_of("n1", {**gpu_facts(), "gpu": {"vendor": "amd", "count": 0}}),
        node_of("n2", {**gpu_facts(), "gpu": None}),
    ],
    "more runs than rows": [gpu_parts.busy_node(number, f"run_{number}") for number in range(1, 41)],
}


def gpus(facts: dict[str, Any]) -> list[GpuInUse]:
    in_use = gpus_of(node_of("n1", facts))
    assert in_use is not None
    return in_use


def pids(facts: dict[str, Any]) -> list[list[int] | None]:
    return [None if gpu.processes is None else [process.pid for process in gpu.processes] for gpu in gpus(facts)]


def test_a_process_is_on_the_gpu_of_its_address() -> None:
    facts = gpu_facts([rank(1), other(0), other(1)], count=3)
    assert pids(facts) == [[5000], [4001, 5001], []]
    assert [gpu.ranks for gpu in gpus(facts)] == [[], [1], []]
    assert [gpu.state.load_percent for gpu in gpus(facts)] == [97, 98, 0]
    assert all(gpu.certain for gpu in gpus(facts))


def test_a_process_whose_gpu_is_not_known_may_be_on_each() -> None:
    facts = gpu_facts([rank(0) | {"device": "/dev/kfd"}], count=2)
    assert pids(facts) == [[4000], [4000]]
    assert [(gpu.certain, gpu.ranks) for gpu in gpus(facts)] == [(False, []), (False, [])]
    assert [gpu.ranks for gpu in gpus(gpu_facts([rank(0) | {"device": "/dev/kfd"}], count=1))] == [[0]]


def test_a_process_may_be_on_each_partition_of_its_gpu() -> None:
    facts = gpu_facts([rank(0)], count=3)
    facts["gpu"]["devices"][1]["pci_address"] = address(0)
    assert [(gpu.certain, bool(gpu.processes)) for gpu in gpus(facts)] == [(False, True), (False, True), (True, False)]


def test_what_could_not_be_read_is_not_known() -> None:
    assert pids(gpu_facts(None, count=2)) == [None, None]
    assert gpus_of(node_of("n1", {**gpu_facts(), "gpu": None})) is None
    unread = gpu_facts(count=1)
    unread["node"]["gpu_health"] = None
    [gpu] = gpus(unread)
    assert (gpu.state.load_percent, gpu.processes) == (None, [])


@pytest.mark.parametrize("state", [{"load_percent": 97}, {"memory_used_mib": 68000}], ids=str)
def test_a_busy_gpu_whose_processes_cannot_be_seen_is_not_idle(state: dict[str, Any]) -> None:
    assert pids(gpu_facts([], count=1, **state)) == [None]
    assert pids(gpu_facts([], count=1)) == [[]]


def test_the_readers_answers_fit_together(tmp_path: Path) -> None:
    """What the readers make of a machine's tools is one record for each GPU, by its address."""
    machine = nvidia_machines.machine()
    users = "\n".join(f"{4000 + index}, 00000000:{bus.upper()}:00.0" for index, bus in enumerate(nvidia_machines.BUSES))
    states = "".join(
        f"<gpu><pci><pci_bus_id>00000000:{bus.upper()}:00.0</pci_bus_id></pci>"
        f"<utilization><gpu_util>{index} %</gpu_util></utilization></gpu>"
        for index, bus in enumerate(nvidia_machines.BUSES)
    )
    commands = {
        " ".join(USERS): answer(users),
        "nvidia-smi -q -x": answer(f"<nvidia_smi_log>{states}</nvidia_smi_log>"),
    }
    host = OwnMachine({**machine, "commands": {**machine["commands"], **commands}}, tmp_path)
    gpu = read_gpu(host, lambda _warning: None)
    assert gpu is not None
    facts = gpu_facts(count=0)
    facts["gpu"] = gpu.to_dict()
    facts["node"]["gpu_health"] = read_gpu_health(host).to_dict()
    facts["node"]["gpu_processes"] = [process.to_dict() for process in read_gpu_processes(host) or ()]
    assert pids(facts) == [[4000], [4001], [4002], [4003]]
    assert [item.state.load_percent for item in gpus(facts)] == [0, 1, 2, 3]


def test_of_many_gpus_those_that_are_alike_share_a_row() -> None:
    nodes = gpu_parts.mixed_cluster(128)
    assert len(lines_of(nodes, 100, every=False)) < 16
    assert len(lines_of(nodes, 100, every=True)) > 127 * 8


@pytest.mark.parametrize("every", [False, True])
def test_a_screen_is_enough_however_many_runs_there_are(every: bool) -> None:
    nodes = [gpu_parts.busy_node(number, f"run_{number}") for number in range(1, 129)]
    lines = lines_of(nodes, 120, every)
    assert (len(lines) <= MOST_ROWS + 4) is not every
