# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a lock that another launch holds, or that cannot be made."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import claim
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, slot_path
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare


def test_a_lock_that_is_free_by_now_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path, ["true"])
    prepare(job)
    rival = Lock(slot_path(job.workdir, job.node, job.slot))
    assert rival.acquire({})

    def release_and_look(_lock: Lock) -> None:
        rival.release()

    monkeypatch.setattr(Lock, "holder", release_and_look)
    until = time.monotonic() + 60
    locks = claim.take(job, job.run_dir, lambda: time.monotonic() > until)
    for lock in locks:
        lock.release()
    assert len(locks) == 2


@pytest.mark.parametrize(
    ("rival", "leaves"),
    [({}, False), ({"created": "0", "nonce": "0"}, True), ({"created": "9999", "nonce": "0"}, False)],
)
def test_a_head_leaves_at_once_only_to_an_older_launch(rival: dict[str, Any], leaves: bool, tmp_path: Path) -> None:
    assert claim._Patience(make_job(tmp_path, ["true"], created="2026")).ends(rival) is leaves


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "let this user write there"),
        (errno.EROFS, "mount it writable"),
        (errno.ENOSPC, "free space there"),
        (errno.ENOLCK, "where flock(2) works"),
    ],
)
def test_the_remedy_is_that_of_the_error(
    number: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_lock: Lock, _holder: dict[str, Any]) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Lock, "acquire", fail)
    job = make_job(tmp_path, ["true"])
    with pytest.raises(claim.Refused) as refused:
        claim.take(job, job.run_dir, lambda: False)
    assert os.strerror(number) in str(refused.value)
    assert remedy in str(refused.value)
