# SPDX-License-Identifier: GPL-3.0-or-later
"""Main memory and the governor."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.health import Memory
from ansible_collections.muster.train.plugins.module_utils._system.memory import (
    POLICIES,
    parse_meminfo,
    read_memory,
    read_memory_limit,
)
from ansible_collections.muster.train.tests.support.machines import Machine

MEMINFO = """MemTotal:       2113460908 kB
MemFree:        1993421112 kB
MemAvailable:   2001230040 kB
SwapTotal:       8388604 kB
HugePages_Total:     512
Hugepagesize:       2048 kB
DirectMap1G:    x kB
"""


def governors(*words: str) -> dict[str, str]:
    return {f"{POLICIES}/policy{number}/scaling_governor": f"{word}\n" for number, word in enumerate(words)}


def test_whole(tmp_path: Path) -> None:
    host = Machine({"files": {"/proc/meminfo": MEMINFO, **governors("performance", "performance")}}, tmp_path)
    assert read_memory(host) == Memory(2113460908 * 1024, 2001230040 * 1024, 8388604 * 1024, 512, "performance")


def test_governors_that_differ_and_none(tmp_path: Path) -> None:
    assert read_memory(Machine({"files": governors("schedutil", "performance")}, tmp_path / "a")) == Memory(
        governor="performance, schedutil"
    )
    assert read_memory(Machine({}, tmp_path / "b")) == Memory()


def test_meminfo() -> None:
    assert parse_meminfo("A: 1 kB\nB: 2\n C: 3\nD: -1 kB\nE: 1 MB\n") == {"A": 1024, "B": 2}


def test_this_machine() -> None:
    result = read_memory(Host())
    assert result.total_bytes is not None and result.available_bytes is not None
    assert 0 < result.available_bytes <= result.total_bytes


V2, V1 = "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
OPEN = "9223372036854771712\n"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "68719476736\n"}, 64 << 30, id="a pod"),
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "max\n"}, None, id="no limit"),
        pytest.param(
            {
                "/proc/self/cgroup": "5:memory:/kubepods/pod1/c\n0::/\n",
                f"{V1}/kubepods/pod1/c/memory.limit_in_bytes": OPEN,
                f"{V1}/kubepods/pod1/memory.limit_in_bytes": "1073741824\n",
                f"{V1}/memory.limit_in_bytes": OPEN,
            },
            1 << 30,
            id="version 1, a level above",
        ),
        pytest.param(
            {"/proc/self/cgroup": "5:memory:/x\n", f"{V1}/memory.limit_in_bytes": OPEN}, None, id="version 1 open"
        ),
        pytest.param({}, None, id="no control groups"),
    ],
)
def test_what_control_groups_leave(files: dict[str, str], limit: int | None, tmp_path: Path) -> None:
    assert read_memory_limit(Machine({"files": files}, tmp_path)) == limit
