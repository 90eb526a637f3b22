# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of a node say of what they cannot read or use: tests/screens/messages/readers.txt."""

from __future__ import annotations

import errno
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._gpu.devices import read_gpu
from ansible_collections.muster.train.plugins.module_utils._gpu.health import read_gpu_health
from ansible_collections.muster.train.plugins.module_utils._host import sysfs
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.probe import run_probes
from ansible_collections.muster.train.plugins.module_utils._memlock import info
from ansible_collections.muster.train.plugins.module_utils._software.code import read_code
from ansible_collections.muster.train.plugins.module_utils._software.copied_tree import why_not_written
from ansible_collections.muster.train.plugins.module_utils._software.files import read_config
from ansible_collections.muster.train.plugins.module_utils._system.kernel_log import read_kernel_log
from ansible_collections.muster.train.plugins.module_utils._system.sudo import read_sudo
from ansible_collections.muster.train.tests.support import amd_machines, nvidia_machines, rdma_ports
from ansible_collections.muster.train.tests.support.checkouts import make_checkout
from ansible_collections.muster.train.tests.support.machines import Machine, load
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine
from ansible_collections.muster.train.tests.unit.module_utils._container import test_engine, test_service
from ansible_collections.muster.train.tests.unit.module_utils._gpu import test_devices as gpu_devices
from ansible_collections.muster.train.tests.unit.module_utils._gpu import test_health
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd import test_devices as amd_devices
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd import test_tools
from ansible_collections.muster.train.tests.unit.module_utils._gpu.nvidia import test_devices as nvidia_devices
from ansible_collections.muster.train.tests.unit.module_utils._host import test_budget, test_probe, test_sysfs
from ansible_collections.muster.train.tests.unit.module_utils._memlock import test_info
from ansible_collections.muster.train.tests.unit.module_utils._net import test_reach
from ansible_collections.muster.train.tests.unit.module_utils._rdma import (
    test_broken_trees,
    test_devices,
    test_ports,
    test_uverbs,
)
from ansible_collections.muster.train.tests.unit.module_utils._software import (
    test_changes,
    test_code,
    test_files,
    test_versions,
)
from ansible_collections.muster.train.tests.unit.module_utils._system import test_kernel_log, test_sudo

RDMA = {
    **test_broken_trees.UNREADABLE,
    "a device that is a loop of links": test_broken_trees.loop_of_links(),
    **{name: tree.manifest for name, tree in test_ports.UNUSABLE.items()},
    "devices in software": test_devices.software(),
    "a pod": test_devices.pod(),
}
# Commands that have no options of their own, and what they were given.
COMMANDS = [
    (CommandResult(None, "", "No such file", missing=True), 2.5),
    (CommandResult(None, "", "", timed_out=True), 2.5),
    (CommandResult(None, "", "", timed_out=True), 0),
    (CommandResult(1, "", ""), 2.5),
    (CommandResult(0, " \n", ""), 2.5),
]
# Readers, and the commands that give them no answer.
UNANSWERED: dict[str, tuple[Any, dict[str, tuple[dict[str, Any], list[str]]]]] = {
    "kernel log": (read_kernel_log, test_kernel_log.CLOSED),
    "sudo": (read_sudo, test_sudo.REFUSED),
    "engine": (test_engine.silent, test_engine.SILENT),
}


def reasons_of(read: Callable[..., object], *arguments: object) -> list[str]:
    """What a reader warns of."""
    warnings: list[str] = []
    read(*arguments, warnings.append)
    return warnings


def of_rdma(manifest: dict[str, Any], root: Path) -> Iterator[str]:
    """What is said of a machine's RDMA devices, and why each port is not usable."""
    rdma, warnings = rdma_ports.read(manifest, root)
    yield from warnings
    yield from (f"{hca.name}: {reason}" for hca in rdma.hcas for port in hca.ports for reason in port.reasons)


def of_code(roots: Callable[[], Path]) -> Iterator[Message]:
    """What is said of code that cannot be read or compared."""
    for name, results in test_code.UNKNOWN.items():
        yield f"checkout: {name}", test_code.unknown(roots(), results)[1]
    folder = roots()
    folder.mkdir()
    test_code.mark(folder, "")
    yield "checkout: a marker that is none", test_code.warned(folder)[1]
    for name, limit in test_changes.LIMITS.items():
        yield f"changes: {name}", [str(test_changes.limited(make_checkout(roots()), *limit).uncompared)]
    yield "changes: no git", [str(read_code(load("hgx_h100", roots()), "/raid/muster", pytest.fail).uncompared)]


def of_gpus(roots: Callable[[], Path]) -> Iterator[Message]:
    """What is said of GPUs of which something is not known."""
    for name, trouble in test_tools.TROUBLES.items():
        yield f"AMD's tools: {name}", test_tools.readings(roots(), **trouble)[1]
    with pytest.MonkeyPatch.context() as patch:
        yield "AMD's tools: slow and broken ones", reasons_of(read_gpu, test_budget.amd(roots(), patch))
    for name, manifest in {"without names": amd_machines.mi250(), "a container": amd_devices.container()}.items():
        yield f"AMD: {name}", reasons_of(read_gpu, Machine(manifest, roots()))
    for name, manifest in nvidia_devices.TROUBLES.items():
        yield f"NVIDIA: {name}", nvidia_devices.read(manifest, roots())[1]
    for name, hangs in nvidia_devices.HANGS.items():
        yield f"NVIDIA: {name}", nvidia_devices.read(nvidia_machines.machine(), roots(), hangs)[1]
    for name, silent in gpu_devices.SILENT.items():
        yield f"GPUs: {name}", reasons_of(read_gpu, gpu_devices.silent(roots(), silent))
    for name, (commands, hangs) in test_health.SILENT.items():
        host = test_health.switched(roots(), hangs, **commands)
        yield f"health of GPUs: {name}", [str(read_gpu_health(host).why)]
    host.is_live = False
    yield "health of GPUs: a tree", [str(read_gpu_health(host).why)]


def of_engines(roots: Callable[[], Path]) -> Iterator[Message]:
    """What is said of containers' engines and services."""
    for name, answer in test_service.UNREAD.items():
        yield f"service: {name}", test_service.read(roots(), {test_service.CONFIG: answer})[1]
    host, _engine = test_info.machine(roots(), **test_info.INCOMPLETE)
    engine = info.read_engine(host, ["docker"], "", False)
    yield "engine: an incomplete answer", [str(engine and engine["why"])]
    host, _engine = test_info.machine(roots(), images=test_info.messages(""))
    engine = info.read_engine(host, ["docker"], "", True)
    yield "engine: no image", [str(engine and engine["container"]["why"])]


def messages(roots: Callable[[], Path]) -> Iterator[Message]:
    for number in (errno.ENOSPC, errno.EACCES, errno.ENOTEMPTY):
        error = OSError(number, os.strerror(number), "/workspace/code/train.py")
        yield f"a copy of the code: {errno.errorcode[number]}", [why_not_written(error, "1000680000")]
    for name, manifest in RDMA.items():
        yield f"RDMA: {name}", of_rdma(manifest, roots())
    for name, manifest in test_uverbs.CLOSED.items():
        yield f"uverbs: {name}", [str(test_uverbs.node_of(manifest, roots())[1])]
    for name, (read, cases) in UNANSWERED.items():
        for case, (commands, hangs) in cases.items():
            yield f"{name}: {case}", [str(read(OwnMachine({"commands": commands}, roots(), hangs)).why)]
    yield "network: ports", [str(reach) for reach in test_reach.reached(roots()) if reach.error]
    yield from of_code(roots)
    yield from of_gpus(roots)
    yield from of_engines(roots)
    yield "commands", [result.why(timeout_s) for result, timeout_s in COMMANDS]
    released = threading.Event()
    yield "probes", run_probes({"bad": test_probe.fail, "hung": released.wait}, 0.5).warnings
    released.set()
    tree = Machine(test_sysfs.UNLISTED, roots())
    yield "sysfs", [str(sysfs.cannot_list(tree, f"/sys/{name}")) for name in ("loop", "file", "gone")]
    for name, machine in {"a container": load("container", roots()), "nothing": Machine({}, roots())}.items():
        yield f"everything of {name}", sorted(gather(machine, FactsQuery("/w", "/c")).warnings)
    for name, content in test_files.NO_CONFIGS.items():
        path = roots()
        path.write_bytes(content)
        yield f"config: {name}", reasons_of(read_config, Host(), str(path))
    yield "torch: it has no version", test_versions.warned(roots(), test_versions.TORCH_WITHOUT_VERSION)[1]


def test_what_readers_say(tmp_path: Path) -> None:
    text = page_of(messages(partial(next, (tmp_path / str(number) for number in itertools.count()))))
    text = re.sub(rf"{tmp_path}/[0-9]+", "/node", text)
    assert text == kept("messages/readers.txt", text)
