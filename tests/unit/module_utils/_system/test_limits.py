# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of this process."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.system import Limit, Memlock
from ansible_collections.muster.train.plugins.module_utils._system.limits import (
    parse_cap_ipc_lock,
    parse_limits,
    parse_memlock,
    read_limits,
    read_memlock,
)
from ansible_collections.muster.train.tests.support.machines import Machine, load

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max stack size            8388608              unlimited            bytes
Max processes             4127213              4127213              processes
Max open files            1024                 1048576              files
Max locked memory         {:<20} {:<20} bytes
Max realtime timeout      unlimited            unlimited            us
"""
FIRST_NAMESPACE = "         0          0 4294967295\n"
ROOTLESS = "         0       1000          1\n         1     100000      65536\n"


@pytest.mark.parametrize(
    ("soft", "hard", "memlock"),
    [
        ("8388608", "unlimited", Memlock(8388608, -1)),
        ("unlimited", "unlimited", Memlock(-1, -1)),
        ("0", "65536", Memlock(0, 65536)),
        ("much", "65536", None),
        ("", "", None),
    ],
)
def test_memlock(soft: str, hard: str, memlock: Memlock | None) -> None:
    assert parse_memlock(LIMITS.format(soft, hard)) == memlock


@pytest.mark.parametrize(
    ("capabilities", "uid_map", "able"),
    [
        ("000001ffffffffff", FIRST_NAMESPACE, True),
        ("0000000000004000", FIRST_NAMESPACE, True),
        ("0000000000004000", None, True),
        ("000001ffffffbfff", FIRST_NAMESPACE, False),
        ("0000000000000000", ROOTLESS, False),
        # All capabilities, but in a user namespace of one's own
        ("000001ffffffffff", ROOTLESS, False),
        ("none", FIRST_NAMESPACE, None),
    ],
)
def test_cap_ipc_lock(capabilities: str, uid_map: str | None, able: bool | None) -> None:
    assert parse_cap_ipc_lock(f"Name:\tpython3\nCapPrm:\t0\nCapEff:\t{capabilities}\nCapBnd:\t0\n", uid_map) is able


@pytest.mark.parametrize(
    ("soft", "capabilities", "effective"),
    [
        ("65536", "CapEff:\t0000000000004000\n", -1),
        ("65536", "CapEff:\t0000000000000000\n", 65536),
        ("unlimited", "CapEff:\t0000000000000000\n", -1),
        ("65536", "", 65536),
    ],
)
def test_either_is_enough(tmp_path: Path, soft: str, capabilities: str, effective: int) -> None:
    files = {
        "/proc/self/limits": LIMITS.format(soft, "unlimited"),
        "/proc/self/status": capabilities,
        "/proc/self/uid_map": FIRST_NAMESPACE,
    }
    memlock = read_memlock(Machine({"files": files}, tmp_path))
    assert memlock is not None
    assert memlock.effective == effective


def test_limits(tmp_path: Path) -> None:
    machine = Machine({"files": {"/proc/self/limits": LIMITS.format(1, 2)}}, tmp_path)
    assert read_limits(machine) == {
        "nofile": Limit(1024, 1048576),
        "nproc": Limit(4127213, 4127213),
        "stack": Limit(8388608, -1),
    }
    assert read_limits(load("container", tmp_path / "container")) == {}
    assert read_memlock(load("container", tmp_path / "container")) is None


def test_limits_of_this_process() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert read_limits(Host())["nofile"] == Limit(soft, hard)
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    memlock = read_memlock(Host())
    assert memlock is not None
    assert (memlock.soft, memlock.hard) == (soft, hard)


def test_parse_limits_of_nonsense() -> None:
    assert parse_limits("Max open files\nMax  1 2\n\nopen files  1  2\n") == {}
