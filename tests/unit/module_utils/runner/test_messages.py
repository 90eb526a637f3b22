# SPDX-License-Identifier: GPL-3.0-or-later
"""Why runners refuse a launch, and how attempts and gangs ended: tests/screens/messages/runner.txt."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure
from ansible_collections.muster.train.plugins.module_utils.runner import claim, shared_outputs
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.launcher_failure import explain, explain_stop
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.launcher_report import failures
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.program import find_program
from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import GATHER_S
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, run_path, slot_path
from ansible_collections.muster.train.plugins.module_utils.runner.requests import StopRequests
from ansible_collections.muster.train.tests.support.coordinators import make_coordinator, report
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of, refusal
from ansible_collections.muster.train.tests.unit.module_utils.runner import test_claim, test_shared_outputs
from ansible_collections.muster.train.tests.unit.module_utils.runner.attempt.test_launcher_failure import REPORT

CLOSED = "the connection was closed"
# The first failure, the launcher's exit code and the end of its log.
FAILURES: list[tuple[RankFailure | None, int, list[str]]] = [
    (failures(REPORT)[0], 1, []),
    (RankFailure(rank=3, signal="SIGSEGV"), 1, ["ignored"]),
    (RankFailure(rank=1, signal="SIGKILL", oom_killed=True, oom_detail="out of memory"), 1, []),
    (RankFailure(rank=1, exit_code=7), 7, ["no GPU here"]),
    (None, -9, ["ignored"]),
    (None, 2, ["usage: train.py", "", "====="]),
    (None, 2, ["====="]),
]
KILLED: list[list[str | None]] = [[], ["0"], [None, None], [None, "2", "2"], ["10", "9", None]]


def drained(phase: str, *numbers: int) -> list[tuple[Any, ...]]:
    return [("on_drained", number, report(phase), 9.0) for number in numbers]


# Limits of a gang of three nodes, and what happens in it.
ENDS: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "a node is silent from the start": (
        {"gathered": False, "lost_after": 0},
        [("on_join", 0, 0.0), ("on_join", 2, 5.0), ("tick", GATHER_S + 5.0)],
    ),
    "a node does not join in time": (
        {"gathered": False, "join_timeout": 30},
        [("on_join", 0, 0.0), ("on_join", 2, 5.0), ("tick", 30.0)],
    ),
    "a node leaves before the start": (
        {"gathered": False},
        [("on_join", 0, 0.0), ("on_join", 1, 0.0), ("on_loss", 1, CLOSED)],
    ),
    "a node is silent": (
        {},
        [("on_heartbeat", 0, 9.0), ("on_heartbeat", 2, 9.0), ("tick", 17.1), *drained("stopped", 0, 2)],
    ),
    "a node cannot be lost": ({"lost_after": 0}, [("on_loss", 1, CLOSED), *drained("succeeded", 0, 2)]),
    "the head was paused": (
        {},
        [("reset_silence", 20.0), ("on_loss", 1, CLOSED, False, 20.0), *drained("stopped", 0, 2)],
    ),
    "a spare is lost, too": (
        {"max_restarts": 1, "spares": 1},
        [
            *(("on_loss", 1, CLOSED), *drained("stopped", 0, 2), ("reset_silence", 30.0), ("tick", 30.0)),
            *(("on_start", 3), ("on_loss", 3, CLOSED), *drained("stopped", 0, 2)),
        ],
    ),
    "three attempts without progress": ({"max_restarts": 50}, drained("failed", 0, 1, 2) * 3),
}


def end(limits: dict[str, Any], events: list[tuple[Any, ...]]) -> list[str]:
    """Why a gang ends in which this happens."""
    coordinator = make_coordinator(**limits)
    coordinator.take_orders()
    for name, *arguments in events:
        getattr(coordinator, name)(*arguments)
    return [order["why"] for _number, order in coordinator.take_orders() if order["type"] == "end"][:1]


def of_claims(root: Path) -> Iterator[Message]:
    holder = {"nonce": "1" * 32, "node": "node0", "node_rank": 0, "since": "2026-11-20T14:30:52Z"}
    for run_id in ("first", "test_run"):
        job = make_job(root / run_id, ["true"])
        prepare(job)
        slot = slot_path(job.workdir, job.node, job.slot)
        lock = Lock(run_path(job.run_dir) if run_id == job.run_id else slot)
        assert lock.acquire({**holder, "run_id": run_id})
        yield f"refused: {run_id} runs", [refusal(claim.take, job, job.run_dir, lambda: False)]
        lock.release()
    yield "refused: no locks", [test_claim.refusal(root, OSError(number, "…")) for number in test_claim.ERRORS]


def of_shared_outputs(root: Path) -> Iterator[Message]:
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_outputs, "PATIENCE_S", 0.0)
        yield "outputs: not those of the head", [refusal(shared_outputs.check, test_shared_outputs.job_of(root, 1))]
    job = test_shared_outputs.job_of(root, folder="linked")
    Path(job.output_dir).symlink_to("elsewhere")
    yield "outputs: a link", [refusal(shared_outputs.lay_out, job)]
    job = make_job(root, [], output_dir=str(root / "absent" / "test_run"))
    yield "outputs: none", [refusal(shared_outputs.lay_out, job)]


def messages(root: Path) -> Iterator[Message]:
    yield from of_claims(root)
    yield from of_shared_outputs(root / "outputs")
    yield "attempt: why it failed", [explain(*failure) for failure in FAILURES]
    yield "attempt: whom a stop killed", [explain_stop("stop requested", killed) for killed in KILLED]
    environments = ({"PATH": "/nowhere"}, {"PATH": "/nowhere", "MUSTER_PYTHON": "/opt/venv/bin/python"})
    yield "attempt: no program", [refusal(find_program, "train", variables) for variables in environments]
    requests = StopRequests(make_job(root, []), str(root))
    requests.note_signal(signal.SIGTERM, None)
    yield "stop: by a signal", [str(requests.look())]
    for name, (limits, events) in ENDS.items():
        yield f"gang: {name}", end(limits, events)


def test_what_runners_say(tmp_path: Path) -> None:
    text = re.sub(str(tmp_path), "/node", page_of(messages(tmp_path)))
    assert text == kept("messages/runner.txt", text)
