# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose turn it is at a slot."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.queue import Turn, take_turn
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, slot_path
from ansible_collections.muster.train.plugins.module_utils.runner.tickets import remove_launch

NODE, SLOT = "node0", "default"
OLD, YOUNG = (
    {"run_id": name, "nonce": digit * 32, "created": f"2026-11-20T14:30:0{digit}Z"}
    for name, digit in (("old", "1"), ("young", "2"))
)


def ask(workdir: Path, launch: dict[str, str]) -> Turn:
    return take_turn(Host(), str(workdir), NODE, SLOT, launch)


def names(turn: Turn) -> list[str]:
    return [ticket["run_id"] for ticket in turn.ahead]


def test_the_turn_comes_when_the_slot_is_free_and_no_older_launch_waits(tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    assert ask(workdir, YOUNG).admitted
    lock = Lock(slot_path(str(workdir), NODE, SLOT))
    assert lock.acquire({"run_id": "holder", "nonce": "0" * 32})
    turn = ask(workdir, YOUNG)
    assert (turn.admitted, (turn.holder or {})["run_id"], turn.ahead) == (False, "holder", [])
    assert names(ask(workdir, OLD)) == []
    assert names(ask(workdir, YOUNG)) == ["old"]
    lock.release()
    assert not ask(workdir, YOUNG).admitted
    assert ask(workdir, OLD).admitted
    assert remove_launch(str(workdir), NODE, OLD["nonce"])
    assert not remove_launch(str(workdir), NODE, OLD["nonce"])
    assert ask(workdir, YOUNG).admitted


def test_an_older_launch_that_comes_later_waits_for_one_that_starts_now(tmp_path: Path) -> None:
    assert ask(tmp_path, YOUNG).admitted
    assert names(ask(tmp_path, OLD)) == ["young"]
    # Where it asks again instead of starting, the older one is next.
    assert not ask(tmp_path, YOUNG).admitted
    assert ask(tmp_path, OLD).admitted


def test_a_ticket_is_private_and_expires_after_five_minutes(tmp_path: Path) -> None:
    ask(tmp_path, OLD)
    [ticket] = tmp_path.rglob(f"{OLD['nonce']}.json")
    assert 0 < json.loads(ticket.read_text())["until"] - time.time() <= 300
    assert os.stat(ticket).st_mode & 0o777 == 0o600
    assert os.stat(ticket.parent).st_mode & 0o777 == 0o700
