# SPDX-License-Identifier: GPL-3.0-or-later
"""A stranger that connects to the head's port without the run's key can neither stop the run nor join it."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang import head
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import launch_identity
from ansible_collections.muster.train.plugins.module_utils.runner.gang.frames import PROBE, proof, request
from ansible_collections.muster.train.tests.support.gang import KEY, Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = pytest.mark.slow

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
CROWD = 1000


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Running]:
    """A gang of two whose head waits for the other."""
    running = Running(make_gang(tmp_path, [SLEEP, SLEEP]))
    running.start(0)
    wait_for(lambda: "have not joined" in str(running.state(0).get("why")), "the head listens")
    yield running
    running.end()


def connect(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.jobs[0].gang.port), timeout=20)


def hello(stranger: socket.socket) -> dict[str, Any]:
    with stranger.makefile("rb") as stream:
        return dict(json.loads(stream.readline()))


def answer(stranger: socket.socket) -> bytes:
    """Return what the head sends until it closes the connection."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := stranger.recv(4096):
            data += piece
    return data


def check_the_run_goes_on(running: Running) -> None:
    """The honest member still joins, both run, and both end well."""
    running.start(1)
    running.wait_phase("running")
    running.runners[1].terminate()
    assert running.codes() == [0, 0]
    assert [running.state(rank)["end"]["verdict"] for rank in range(2)] == ["stopped", "stopped"]


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\n",
        b"null\n",
        b"{}\n",
        b"[" * 400 + b"\n",
        b'{"type": "join"}\n',
        b'{"type": "join", "rank": 1, "nonce": "aa", "mac": "00"}\n',
        b'{"type": "join", "rank": true, "nonce": [], "mac": {}}\n',
        b'{"type": "join", "rank": 0, "nonce": "aa", "mac": "00"}\n',
        b'{"type": "join", "rank": -1, "nonce": "aa", "mac": "00"}\n',
        b'{"type": "join", "rank": 1e99, "nonce": "aa", "mac": "00"}\n',
        b'{"type": "request_stop", "why": "stop", "grace": 0}\n',
        b'{"type": "join", "rank": 1, "nonce": "aa", "mac": "\\ud800"}\n',
        b'{"type": "join", "rank": 1, "nonce": "\\ud800", "mac": "00"}\n',
        b'{"type": "join", "rank": 1, "nonce": "aa", "stop": "\\udfff", "mac": "00"}\n',
        b'{"rank": ' + b"9" * 480 + b"}\n",
        b"x" * 100_000,
        b"x" * 511 + b"\n",
    ],
    ids=range(19),
)
def test_a_stranger_is_refused(waiting: Running, line: bytes) -> None:
    with connect(waiting) as stranger:
        assert hello(stranger)["type"] == "hello"
        with contextlib.suppress(ConnectionError):  # it may have been closed before all was sent
            stranger.sendall(line)
        assert answer(stranger) in (b"", b'{"type": "refused"}\n')
    assert waiting.state(0)["phase"] == "waiting"
    assert waiting.runners[0].poll() is None


def test_a_join_is_valid_for_one_connection_only(waiting: Running) -> None:
    """A recorded join cannot be replayed: every connection has its own nonce from the head."""
    job = waiting.jobs[1]
    with connect(waiting) as first, connect(waiting) as second:
        nonce = hello(first)["nonce"]
        mac = proof(KEY.encode(), "join", f"{job.run_id} {job.nonce}", 1, nonce, "aa", "")
        hello(second)
        second.sendall(json.dumps({"type": "join", "rank": 1, "nonce": "aa", "mac": mac}).encode() + b"\n")
        assert answer(second) == b'{"type": "refused"}\n'
    check_the_run_goes_on(waiting)


def probe(running: Running) -> bytes:
    """Return what the head answers to a probe of node1."""
    identity = KEY.encode(), launch_identity(running.jobs[1]), 1
    with connect(running) as asking:
        line, _session = request(PROBE, identity, (hello(asking)["nonce"], "aa"))
        asking.sendall(line)
        return answer(asking)


def test_a_probe_tells_whether_the_node_is_a_member(waiting: Running) -> None:
    assert probe(waiting) == b'{"type": "refused"}\n'
    waiting.start(1)
    waiting.wait_phase("running")
    assert json.loads(probe(waiting))["type"] == "welcome"
    assert waiting.runners[1].poll() is None


def test_a_silent_connection_is_closed(waiting: Running) -> None:
    with connect(waiting) as silent, connect(waiting) as slow:
        hello(silent)
        hello(slow)
        began = time.monotonic()
        for byte in b'{"type": "jo':
            slow.sendall(bytes([byte]))
            time.sleep(0.2)
        assert answer(silent) == b""
        assert answer(slow) == b""
        assert time.monotonic() - began >= head.HANDSHAKE_S - 1
    check_the_run_goes_on(waiting)


def test_many_strangers_keep_no_member_out(waiting: Running) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * CROWD), hard))
    with contextlib.ExitStack() as crowd:
        for _number in range(CROWD):
            crowd.enter_context(connect(waiting))
        check_the_run_goes_on(waiting)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_member_does_not_trust_a_head_without_the_key(tmp_path: Path) -> None:
    """A process at the head's address can keep a member from starting, but never make it start."""
    running = Running(make_gang(tmp_path, [SLEEP, SLEEP]))
    with socket.create_server(("127.0.0.1", running.jobs[0].gang.port)) as false_head:
        running.start(1)
        for welcome in ({"type": "welcome", "mac": "00" * 32}, {"type": "go", "attempt": 0}, {"type": "refused"}):
            member, _address = false_head.accept()
            with member:
                member.sendall(b'{"type": "hello", "nonce": "aa"}\n')
                hello(member)
                member.sendall(json.dumps(welcome).encode() + b"\n")
                answer(member)
    assert running.runners[1].wait(60) == 1
    assert running.state(1)["started"] is None
    running.end()
