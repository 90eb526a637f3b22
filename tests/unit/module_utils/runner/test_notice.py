# SPDX-License-Identifier: GPL-3.0-or-later
"""The notice that the head's runner sends when a run has ended, to a real server."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.notice import address_of, is_sent
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of

FAILS = [sys.executable, "-c", "raise SystemExit(7)"]


class Receiver(HTTPServer):
    """Answers requests with these codes, then with 200, and keeps what it got."""

    codes: list[int]
    notices: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.notices.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.codes.pop(0) if self.server.codes else 200)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Print nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver(("127.0.0.1", 0), Handler)
    server.codes, server.notices = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_end_is_sent_until_it_is_taken(receiver: Receiver, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{receiver.server_port}/hook"
    job = dataclasses.replace(make_job(tmp_path, FAILS), notice="secret:HOOK")
    receiver.codes.append(503)
    assert spawn(job, {"secrets": {"HOOK": address, "TOKEN": "s3cret"}}).wait(60) == 1
    assert len(receiver.notices) == 2
    assert receiver.notices[0] == receiver.notices[1]
    end = state_of(job)["end"]
    assert receiver.notices[1] == {
        "text": f"{job.run_id} failed: {end['why']}",
        "schema": 1,
        "event": "end",
        "run_id": job.run_id,
        "label": None,
        "verdict": "failed",
        "why": end["why"],
        "node": job.node,
        "rank": end["rank"],
        "nnodes": 1,
        "world_size": 1,
        "created": job.created,
    }
    log = Path(job.run_dir, "runner.log").read_text()
    assert log == "muster: the notice of the end was not sent (try 1 of 3): 503\n"


def test_a_server_that_is_away_changes_nothing(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        notice = f"http://127.0.0.1:{closed.getsockname()[1]}/hook"
        job = dataclasses.replace(make_job(tmp_path, FAILS), notice=notice)
        assert spawn(job).wait(60) == 1
    assert state_of(job)["phase"] == "failed"
    lines = Path(job.run_dir, "runner.log").read_text().splitlines()
    assert [line.partition(" sent ")[2].partition(":")[0] for line in lines] == [
        f"(try {attempt} of 3)" for attempt in (1, 2, 3)
    ]
    assert "hook" not in "".join(lines)


@pytest.mark.parametrize("answer", [b"\xff" * 64 + b"\n", b"", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n"])
def test_what_does_not_speak_http_changes_nothing(tmp_path: Path, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_all, args=(server, answer), daemon=True)
        thread.start()
        secrets = {"HOOK": f"http://127.0.0.1:{server.getsockname()[1]}/t0ken"}
        job = dataclasses.replace(make_job(tmp_path, FAILS), notice="secret:HOOK")
        assert spawn(job, {"secrets": secrets}).wait(60) == 1
    assert_not_sent(job)


@pytest.mark.parametrize("sign", ["\x01", "\x7f", "\u0394", "\udcff"])
def test_an_address_that_cannot_be_asked_changes_nothing(tmp_path: Path, sign: str) -> None:
    job = dataclasses.replace(make_job(tmp_path, FAILS), notice="secret:HOOK")
    assert spawn(job, {"secrets": {"HOOK": f"http://127.0.0.1:9/{sign}t0ken"}}).wait(60) == 1
    assert_not_sent(job)


def answer_all(server: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _address = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)


def assert_not_sent(job: Job) -> None:
    assert state_of(job)["phase"] == "failed"
    log = Path(job.run_dir, "runner.log").read_text()
    assert log.count(" of 3): ") == len(log.splitlines()) == 3
    assert "t0ken" not in log


def test_the_failure_of_the_runner_itself_is_sent(receiver: Receiver, tmp_path: Path) -> None:
    notice = f"http://127.0.0.1:{receiver.server_port}/hook"
    job = dataclasses.replace(make_job(tmp_path, FAILS, nnodes=2), notice=notice)
    assert spawn(job).wait(60) == 1
    [sent] = receiver.notices
    assert (sent["verdict"], sent["node"]) == ("failed", job.node)
    assert sent["why"] == "the runner itself failed: ValueError: a run on several nodes needs a key"


@pytest.mark.parametrize(
    ("text", "secrets", "address"),
    [
        ("https://a.example/x", {}, "https://a.example/x"),
        ("secret:HOOK", {"HOOK": "https://a.example/x"}, "https://a.example/x"),
        ("secret:HOOK", {}, None),
        ("secret:HOOK", {"HOOK": "file:///etc/passwd"}, None),
        ("https://me:password@a.example/x", {}, None),
        ("notify --all", {}, None),
    ],
)
def test_the_address(text: str, secrets: dict[str, str], address: str | None) -> None:
    assert address_of(text, secrets) == address
    assert is_sent(text) == (address is not None or text.startswith("secret:"))
