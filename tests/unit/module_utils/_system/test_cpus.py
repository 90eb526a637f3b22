# SPDX-License-Identifier: GPL-3.0-or-later
"""How many CPUs the ranks may use: lists of CPUs, and limits of control groups at every level."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.module_utils._system.control_groups import parse_groups
from ansible_collections.muster.train.plugins.module_utils._system.cpus import (
    parse_cpu_list,
    parse_cpu_max,
    read_affinity,
    read_cpu_limit,
)
from ansible_collections.muster.train.tests.support.machines import Machine, load

V2, V1 = "/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"
SCOPE = "/user.slice/user-1000.slice/session-4.scope"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 1),
        ("0-7", 8),
        ("0-55,112-167", 112),
        ("3,5, 9", 3),
        ("0-4000000000", 4000000001),
        ("", None),
        ("a-b", None),
        ("7-0", None),
        ("1-2-3", None),
    ],
)
def test_cpu_list(text: str, count: int | None) -> None:
    assert parse_cpu_list(text) == count


@pytest.mark.parametrize(("name", "cpus"), [("laptop", 8), ("hgx_h100", 112), ("mi300x", 96), ("container", 1)])
def test_cpus_this_process_may_use(tmp_path: Path, name: str, cpus: int) -> None:
    assert read_affinity(load(name, tmp_path)) == cpus


def test_cpus_unknown(tmp_path: Path) -> None:
    assert read_affinity(Machine({"files": {"/proc/self/status": "Name:\tx\n"}}, tmp_path)) is None
    assert read_affinity(Machine({}, tmp_path / "none")) is None


def v1(folder: str, quota: int, period: int = 100000) -> dict[str, str]:
    return {f"{V1}{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{V1}{folder}/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "1200000 100000\n"}, 12, id="a pod"),
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "250000 100000\n"}, 2, id="two and a half"),
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "50000 100000\n"}, 1, id="half of one"),
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "60000 20000\n"}, 3, id="a short period"),
        pytest.param({"/proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "max 100000\n"}, None, id="no limit"),
        pytest.param({"/proc/self/cgroup": "0::/init.scope\n"}, None, id="a host's root has no file"),
        pytest.param({}, None, id="no control groups"),
        pytest.param(
            {
                "/proc/self/cgroup": f"0::{SCOPE}\n",
                f"{V2}{SCOPE}/cpu.max": "max 100000\n",
                f"{V2}/user.slice/user-1000.slice/cpu.max": "400000 100000\n",
                f"{V2}/user.slice/cpu.max": "1600000 100000\n",
            },
            4,
            id="a level above is the narrowest",
        ),
        pytest.param(
            {"/proc/self/cgroup": "0::/../../kubepods/pod1\n", f"{V2}/cpu.max": "200000 100000\n"},
            2,
            id="a namespace below its group",
        ),
        pytest.param(
            {"/proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n", **v1("", 600000)}, 6, id="docker, version 1"
        ),
        pytest.param(
            {
                "/proc/self/cgroup": "4:cpu,cpuacct:/kubepods/pod1\n",
                **v1("/kubepods/pod1", -1),
                **v1("/kubepods", 300000),
            },
            3,
            id="version 1, a level above",
        ),
        pytest.param(
            {"/proc/self/cgroup": "4:cpuacct,cpu:/x\n", **v1("/x", -1), **v1("", -1)}, None, id="version 1 open"
        ),
        pytest.param({"/proc/self/cgroup": "7:cpuset:/x\n", **v1("/x", 100000)}, None, id="another controller"),
    ],
)
def test_limits_of_control_groups(files: dict[str, str], limit: int | None, tmp_path: Path) -> None:
    assert read_cpu_limit(Machine({"files": files}, tmp_path)) == limit


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_a_quota_is_a_quotient(quota: int, period: int) -> None:
    cpus = parse_cpu_max(f"{quota} {period}\n")
    assert cpus is not None
    assert math.isclose(cpus * period, quota)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert parse_cpu_max(text) is None or parse_cpu_max(text) is not None
    assert all(path.startswith("/") for path in parse_groups(text).values())
