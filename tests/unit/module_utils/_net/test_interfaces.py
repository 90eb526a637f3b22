# SPDX-License-Identifier: GPL-3.0-or-later
"""Network interfaces."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._net.interfaces import parse_routed, read_interfaces
from ansible_collections.muster.train.plugins.module_utils._records.health import Interface
from ansible_collections.muster.train.tests.support.machines import Machine

ROUTES = "Iface\tDestination\tGateway\nbond0\t00000000\t0101A8C0\neno1\t0001A8C0\t00000000\n\n"


def interface(name: str, **values: str) -> dict[str, str]:
    return {f"/sys/class/net/{name}/{attribute}": f"{value}\n" for attribute, value in values.items()}


def test_those_with_a_device_or_a_route(tmp_path: Path) -> None:
    files = {
        "/proc/net/route": ROUTES,
        **interface("bond0", operstate="up", mtu="9000", speed="200000", carrier_changes="4"),
        **interface("rail10", operstate="down", mtu="4200", speed="-1", carrier_changes="1"),
        **interface("rail2", operstate="up", mtu="1500", speed="4294967295"),
        **interface("veth12ab", operstate="up", mtu="1500"),
        **interface("lo", operstate="unknown", mtu="65536"),
    }
    links = {f"/sys/class/net/{name}/device": "../../../devices/x" for name in ("rail2", "rail10")}
    result = read_interfaces(Machine({"files": files, "links": links}, tmp_path))
    assert result == {
        "bond0": Interface("up", 9000, 200000, 4),
        "rail2": Interface("up", 1500, None, None),
        "rail10": Interface("down", 4200, None, 1),
    }
    assert list(result) == ["bond0", "rail2", "rail10"]


def test_without_sys(tmp_path: Path) -> None:
    assert read_interfaces(Machine({"files": {"/proc/net/route": ROUTES}}, tmp_path)) is None
    assert parse_routed("") == set()
