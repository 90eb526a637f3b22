# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of policy routing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._net.rules import parse_rules, read_rules
from ansible_collections.muster.train.plugins.module_utils._records.node import Rule
from ansible_collections.muster.train.tests.support.machines import Machine

USUAL = "0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("5270:\tfrom all lookup 52", Rule(5270, None, "52")),
        ("100:\tfrom all to 10.20.0.0/16 lookup rail0", Rule(100, "10.20.0.0/16", "rail0")),
        ("101:\tfrom all to 10.20.0.7 lookup 7 proto static", Rule(101, "10.20.0.7", "7")),
        # WireGuard's: all but its own packets.
        ("32765:\tnot from all fwmark 0xca6c lookup 51820", Rule(32765, None, "51820")),
        # Of clouds' second interfaces and of containers' networks: not for a connection without source or mark.
        ("200:\tfrom 10.140.0.5 lookup 200", None),
        ("9:\tfrom all fwmark 0x200/0xf00 lookup 2004", None),
        ("20:\tfrom all iif cni0 lookup 40", None),
        ("512:\tfrom all to 10.0.3.4 lookup main", None),
        ("32764:\tfrom all lookup main suppress_prefixlength 0", None),
        ("10:\tfrom all unreachable", None),
        ("1000:\tfrom all lookup [l3mdev-table]", None),
        ("32768:\tfrom all lookup 99", None),
        ("11:\tfrom all to 999.0.0.1 lookup 9", None),
        ("11:\tfrom all to 10.0.0.0/99 lookup 9", None),
        ("11:\tfrom all to 10.0\0.0.1 lookup 9", None),
    ],
)
def test_rules_that_a_new_connection_follows(line: str, rule: Rule | None) -> None:
    assert parse_rules(f"{USUAL}{line}\n") == ([] if rule is None else [rule])


def test_without_the_tool_they_are_unknown(tmp_path: Path) -> None:
    assert read_rules(Machine({}, tmp_path / "a")) is None
    assert read_rules(Machine({"commands": {"ip rule show": {"stdout": USUAL}}}, tmp_path / "b")) == []


def test_rules_of_ipv6_are_read_too(tmp_path: Path) -> None:
    lines = (
        f"{9 + index}:\tfrom all to {to} lookup 7\n" for index, to in enumerate(("fd00::/64", "10.0.0.0/8", "::/129"))
    )
    of_ipv6 = USUAL + "".join(lines)
    commands = {"ip rule show": {"stdout": "5:\tfrom all lookup 52\n"}, "ip -6 rule show": {"stdout": of_ipv6}}
    expected = [Rule(5, None, "52"), Rule(9, "fd00::/64", "7", ipv6=True)]
    assert read_rules(Machine({"commands": commands}, tmp_path)) == expected
