# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has a slot."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._system.workdir import read_holder, read_keeper
from ansible_collections.muster.train.plugins.module_utils.runner import locks, tickets

HOLDER: dict[str, Any] = {"run_id": "r1", "nonce": "n", "node": "node0", "pid": 4242, "since": "2026-11-20T14:30:52Z"}


def write(workdir: Path, text: str) -> Path:
    lock = workdir / ".muster/nodes/node0/slots/default.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(text)
    return lock


def test_a_slot_that_was_never_taken(tmp_path: Path) -> None:
    assert read_holder(Host(), str(tmp_path), "node0", "default") is None
    assert list(tmp_path.iterdir()) == []


def test_a_slot_whose_holder_died(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(HOLDER))
    assert read_holder(Host(), str(tmp_path), "node0", "default") is None


def test_the_holder_is_of_this_slot_only(tmp_path: Path) -> None:
    with write(tmp_path, json.dumps(HOLDER)).open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        holder = read_holder(Host(), str(tmp_path), "node0", "default")
        assert holder == LaunchHolder(**HOLDER)
        assert read_holder(Host(), str(tmp_path), "node0", "other") is None
    assert read_holder(Host(), str(tmp_path), "node0", "default") is None


def test_an_unreadable_holder_still_holds(tmp_path: Path) -> None:
    with write(tmp_path, "").open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert read_holder(Host(), str(tmp_path), "node0", "default") == LaunchHolder()


def test_a_lock_of_the_runner_below_another_root(tmp_path: Path) -> None:
    (tmp_path / "root/work/.muster/nodes/node0/slots").mkdir(parents=True)
    lock = locks.Lock(locks.slot_path(f"{tmp_path}/root/work", "node0", "b"))
    assert lock.acquire(HOLDER)
    host = Host(f"{tmp_path}/root")
    holder = read_holder(host, "/work", "node0", "b")
    assert holder is not None
    assert holder.run_id == "r1"
    lock.release()
    assert read_holder(host, "/work", "node0", "b") is None


def test_a_slot_is_kept_by_its_holder_then_for_the_first_launch_that_waits(tmp_path: Path) -> None:
    assert read_keeper(Host(), str(tmp_path), "node0", "default") is None
    queue = Path(tickets.queue_path(str(tmp_path), "node0", "default"))
    queue.mkdir(parents=True)
    for number, admitted in (1, False), (2, False), (3, True):
        ticket = {"run_id": f"r{number}", "nonce": str(number), "created": f"2026-11-20T14:30:5{number}Z"}
        tickets.renew(str(queue), ticket, 60, admitted)
    with (queue.parent / "default.lock").open("w") as stream:
        json.dump(HOLDER, stream)
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert read_keeper(Host(), str(tmp_path), "node0", "default") == LaunchHolder(**HOLDER)
    kept = []
    while keeper := read_keeper(Host(), str(tmp_path), "node0", "default"):
        assert keeper.waits
        kept.append((keeper.run_id, keeper.since))
        tickets.remove(str(queue), str(keeper.nonce))
    assert kept == [(f"r{number}", f"2026-11-20T14:30:5{number}Z") for number in (3, 1, 2)]
