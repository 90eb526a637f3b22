# SPDX-License-Identifier: GPL-3.0-or-later
"""The tickets of launches that wait: their order, and how long they hold."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils.runner import claim, tickets
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare

NOW = 1_000_000.0


def launch(number: int, nonce: str = "") -> dict[str, Any]:
    return {"run_id": f"run{number}", "created": f"2026-11-20T14:30:{number:02d}Z", "nonce": nonce or f"{number:032x}"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [NOW]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def runs(place: Path) -> list[str]:
    return [ticket["run_id"] for ticket in tickets.list_tickets(str(place))]


def test_the_oldest_launch_comes_first_and_of_the_same_second_the_lower_nonce(tmp_path: Path) -> None:
    for other in (launch(3), launch(1), launch(2, "f" * 32), launch(2, "a" * 32)):
        tickets.renew(str(tmp_path), other, 60, admitted=False)
    assert runs(tmp_path) == ["run1", "run2", "run2", "run3"]
    assert [ticket["nonce"][0] for ticket in tickets.list_tickets(str(tmp_path))[1:3]] == ["a", "f"]


def test_a_ticket_that_is_not_renewed_expires(tmp_path: Path, clock: list[float]) -> None:
    tickets.renew(str(tmp_path), launch(1), 60, admitted=False)
    clock[0] += 59
    assert runs(tmp_path) == ["run1"]
    tickets.renew(str(tmp_path), launch(1), 60, admitted=False)
    clock[0] += 59
    tickets.remove_expired(str(tmp_path))
    assert runs(tmp_path) == ["run1"]
    clock[0] += 2
    assert runs(tmp_path) == []
    tickets.remove_expired(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", '{"until": "soon", "nonce": "0"}', '{"until": NaN, "nonce": "0"}', "{"])
def test_a_ticket_that_cannot_be_read_keeps_nobody_out(content: str, tmp_path: Path) -> None:
    (tmp_path / f"{'0' * 32}.json").write_text(content)
    assert runs(tmp_path) == []


def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "1.json")
    (tmp_path / "2.json").mkdir()
    assert runs(tmp_path) == []
    tickets.remove_expired(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["2.json"]


def test_a_queue_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert runs(tmp_path / "missing") == []
    assert tickets.remove(str(tmp_path / "missing"), "0" * 32) is False


def test_a_link_in_the_place_of_a_queue_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "queue").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotADirectoryError), tickets.open_queue(str(tmp_path / "queue")):
        pass


def test_a_launch_is_listed_in_the_queues_of_all_slots_and_removed_from_them(tmp_path: Path) -> None:
    queues = [Path(tickets.queue_path(str(tmp_path), "n1", slot)) for slot in ("a", "b")]
    for queue in queues:
        queue.mkdir(parents=True)
        for number in (1, 2):
            tickets.renew(str(queue), launch(number), 60, admitted=False)
    waiting = [(known["slot"], known["run_id"]) for known in tickets.list_waiting(str(tmp_path), "n1")]
    assert waiting == [("a", "run1"), ("a", "run2"), ("b", "run1"), ("b", "run2")]
    tickets.remove_launch(str(tmp_path), "n1", launch(1)["nonce"])
    assert [runs(queue) for queue in queues] == [["run2"], ["run2"]]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = make_job(tmp_path, ["true"], created="2026-11-20T14:30:05Z", nonce="5" * 32)
    prepare(made)
    queue_of(made).mkdir(parents=True)
    return made


def queue_of(job: Job) -> Path:
    return Path(tickets.queue_path(job.workdir, job.node, job.slot))


def take(job: Job) -> None:
    for lock in claim.take(job, job.run_dir, lambda: False):
        lock.release()


def test_a_runner_leaves_the_slot_to_an_older_launch(job: Job) -> None:
    tickets.renew(str(queue_of(job)), {**launch(1), "user": "ann"}, 60, admitted=False)
    with pytest.raises(claim.Refused) as refused:
        take(job)
    assert refused.value.slot == job.slot
    holder = refused.value.holder or {}
    assert (holder["run_id"], holder["waits"], holder["since"]) == ("run1", True, "2026-11-20T14:30:01Z")


def test_a_runner_takes_the_slot_before_a_younger_launch(job: Job) -> None:
    tickets.renew(str(queue_of(job)), launch(9), 60, admitted=True)
    take(job)


def test_a_runner_whose_turn_has_come_takes_the_slot_although_an_older_launch_came_meanwhile(job: Job) -> None:
    ticket = {"run_id": job.run_id, "created": job.created, "nonce": job.nonce}
    tickets.renew(str(queue_of(job)), launch(1), 60, admitted=False)
    tickets.renew(str(queue_of(job)), ticket, 60, admitted=False)
    with pytest.raises(claim.Refused):
        take(job)
    tickets.renew(str(queue_of(job)), ticket, 60, admitted=True)
    take(job)
