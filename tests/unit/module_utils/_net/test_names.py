# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, and what they stand for on a node."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LookedUp
from ansible_collections.muster.train.plugins.module_utils._net import names
from ansible_collections.muster.train.plugins.module_utils._net.names import parse_hosts, read_names
from ansible_collections.muster.train.plugins.module_utils._records.health import ResolvedName
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import FakeSystem, OwnMachine

DEBIAN = (
    "127.0.0.1\tlocalhost\n127.0.1.1\tgpu01.example.com gpu01  # made by the installer\n\n::1 localhost ip6-localhost\n"
)
MANIFEST = {"files": {"/proc/sys/kernel/hostname": "gpu01\n", "/etc/hosts": DEBIAN}}


def untimed(names: dict[str, ResolvedName]) -> dict[str, ResolvedName]:
    return {name: replace(answer, ms=None, reverse_ms=None) for name, answer in names.items()}


def test_hosts() -> None:
    assert parse_hosts(DEBIAN + "10.0.0.2 GPU02 gpu02 # gpu03\n10.0.0.3\n#10.0.0.4 gpu04\n10.0.0.2 gpu02\n") == {
        "localhost": ["127.0.0.1", "::1"],
        "gpu01.example.com": ["127.0.1.1"],
        "gpu01": ["127.0.1.1"],
        "ip6-localhost": ["::1"],
        "gpu02": ["10.0.0.2"],
    }
    assert parse_hosts("") == {}


def test_the_own_name_on_a_loopback_address_and_names_of_others(tmp_path: Path) -> None:
    host = OwnMachine(MANIFEST, tmp_path)
    host.system.names = {"gpu01": LookedUp(["127.0.1.1"]), "gpu02": LookedUp(["10.0.0.2", "fd00::2"])}
    assert untimed(read_names(host, ["gpu02", "gpu09", "gpu02"])) == {
        "gpu01": ResolvedName(["127.0.1.1"], "/etc/hosts"),
        "gpu02": ResolvedName(["10.0.0.2", "fd00::2"], "resolver"),
        "gpu09": ResolvedName([], None, "Name or service not known"),
    }


def test_how_long_the_resolver_takes_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()

    class Slow(FakeSystem):
        def look_up_name(self, address: str) -> str | None:
            if address == "10.0.0.2":
                gone.wait()
            return None

    host = OwnMachine(MANIFEST, tmp_path)
    host.system = Slow()
    host.system.names = {"gpu01": LookedUp(["10.0.0.1"]), "gpu02": LookedUp(["10.0.0.2", "fd00::2"])}
    monkeypatch.setattr(names, "REVERSE_S", 0.2)
    result = read_names(host, ["gpu02", "gpu09"])
    gone.set()
    assert result["gpu02"].reverse_ms == 200
    assert result["gpu09"].reverse_ms is None
    assert all(answer.ms is not None and answer.ms <= names.LOOK_UP_S * 1000 for answer in result.values())


def test_a_resolver_that_asks_others_although_hosts_has_the_name(tmp_path: Path) -> None:
    host = OwnMachine(MANIFEST, tmp_path)
    host.system.names = {"gpu01": LookedUp(["10.0.0.1"])}
    assert untimed(read_names(host, []))["gpu01"] == ResolvedName(["10.0.0.1"], "resolver")


def test_a_resolver_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gone = threading.Event(), threading.Event()

    class Slow(FakeSystem):
        def look_up(self, name: str) -> LookedUp:
            asked.set()
            if name == "gpu02":
                gone.wait()
            return LookedUp(["10.0.0.1"])

    host = OwnMachine(MANIFEST, tmp_path)
    host.system = Slow()
    monkeypatch.setattr(names, "LOOK_UP_S", 0.2)
    result = read_names(host, ["gpu02"])
    gone.set()
    assert asked.is_set()
    assert result["gpu01"].addresses == ["10.0.0.1"]
    assert result["gpu02"] == ResolvedName([], None, "no answer within 0.2 s", 200)


def test_a_tree_knows_what_is_in_its_hosts(tmp_path: Path) -> None:
    assert read_names(Machine(MANIFEST, tmp_path / "a"), ["localhost", "gpu02"]) == {
        "gpu01": ResolvedName(["127.0.1.1"], "/etc/hosts"),
        "localhost": ResolvedName(["127.0.0.1", "::1"], "/etc/hosts"),
    }
    assert read_names(Machine({}, tmp_path / "b"), ["localhost"]) == {}
