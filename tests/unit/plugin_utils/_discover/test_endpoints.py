# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of how new hosts are reached: why one is refused, by sockets and keys of this machine."""

from __future__ import annotations

import dataclasses
import socket

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster import unreachable
from ansible_collections.muster.train.plugins.plugin_utils._cluster.reasons import REASONS
from ansible_collections.muster.train.plugins.plugin_utils._discover.endpoints import Endpoint, connect, refuse
from ansible_collections.muster.train.plugins.plugin_utils._discover.host_keys import HostKey
from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import Target

OLD, NEW = (HostKey("changed", "ssh-ed25519", blob) for blob in ("AAAA", "BBBB"))


def endpoint(name: str, error: OSError | UnicodeError | None = None, scanned: bool = True) -> Endpoint:
    return Endpoint(Target(name, name=name), name, 22, "ann", name, "127.0.0.1", error, scanned)


@pytest.fixture
def without_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no text be recognized."""
    reasons = tuple(dataclasses.replace(reason, pattern=r"(?!)") for reason in REASONS)
    monkeypatch.setattr(unreachable, "REASONS", reasons)


@pytest.mark.usefixtures("without_patterns")
def test_why_a_host_is_refused_is_read_from_no_text() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]  # nothing listens on it
        _address, closed = connect("127.0.0.1", port)
    _address, long_name = connect("a" * 64 + ".invalid", 22)
    hosts = [
        endpoint("closed", closed),
        endpoint("nameless", long_name),
        endpoint("mute"),
        endpoint("changed"),
        endpoint("behind", scanned=False),
    ]
    refused = refuse(hosts, [OLD], {"changed": [NEW]}, "known_hosts.txt")
    assert {name: finding.check for name, finding in refused.items()} == {
        "closed": "port",
        "nameless": "name",
        "mute": "ssh",
        "changed": "host key",
        "behind": "host key",
    }
    assert "-R changed -f known_hosts.txt" in str(refused["changed"].remedy)


def test_a_port_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert connect("127.0.0.1", server.getsockname()[1]) == ("127.0.0.1", None)
