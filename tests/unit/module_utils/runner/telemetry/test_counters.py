# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the counters of the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.telemetry.counters import (
    HostReader,
    parse_interfaces,
    parse_memory,
    parse_ticks,
)

STAT = "cpu  {busy} 0 100 {idle} 50 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n"
MEMINFO = "MemTotal:       16384000 kB\nMemFree:         1000000 kB\nMemAvailable:    8192000 kB\n"
NET = """\
Inter-|   Receive                                     |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0:{received} 10 0 0 0 0 0 0 {sent} 20 0 0 0 0 0 0
veth12: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0
  ib0: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0
"""


def write(root: Path, received: int, busy: int, words: int | None) -> None:
    (root / "net").mkdir(exist_ok=True)
    (root / "net" / "dev").write_text(NET.format(received=received, sent=2 * received))
    (root / "stat").write_text(STAT.format(busy=busy, idle=1000))
    (root / "meminfo").write_text(MEMINFO)
    counters = root / "infiniband" / "mlx5_0" / "ports" / "1" / "counters"
    counters.mkdir(parents=True, exist_ok=True)
    for name in ("port_rcv_data", "port_xmit_data"):
        (counters / name).write_text("" if words is None else f"{words}\n")


def test_rates_are_those_since_the_sample_before(tmp_path: Path) -> None:
    write(tmp_path, 1000, 100, 500)
    reader = HostReader(str(tmp_path), str(tmp_path / "infiniband"))
    memory = {"memory_mib": 8000, "memory_total_mib": 16000}
    assert reader.read(10.0) == memory
    write(tmp_path, 5000, 400, 1500)
    rates = {"eth0": [2000, 4000], "mlx5_0/1": [2000, 2000]}
    assert reader.read(12.0) == {**memory, "cpu_percent": 100.0, "network": rates}
    write(tmp_path, 0, 400, 1500)  # a counter that was reset
    assert reader.read(14.0) == {**memory, "network": {}}


def test_a_port_that_does_not_show_its_counters_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, None)
    reader = HostReader(str(tmp_path), str(tmp_path / "infiniband"))
    reader.read(0.0)
    for words in (1, 2):
        write(tmp_path, 0, 0, words)
        assert "mlx5_0/1" not in reader.read(1.0 + words)["network"]


def test_a_host_without_any_of_them(tmp_path: Path) -> None:
    reader = HostReader(str(tmp_path), str(tmp_path))
    assert [reader.read(0.0), reader.read(1.0)] == [{}, {"network": {}}]


def test_this_machine() -> None:
    reader = HostReader()
    assert reader.read(0.0)["memory_total_mib"] > 0


@pytest.mark.parametrize("text", ["", "cpu", "cpu a b c d e f", "intr 1 2 3 4 5 6", "eth0: x", "MemTotal: 5 kB"])
def test_what_cannot_be_read_is_unknown(text: str) -> None:
    assert parse_ticks(text) is None
    assert parse_memory(text) == {}
    assert parse_interfaces(text) == {}
