# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a lock that another launch holds, or that cannot be made."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

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


ERRORS = (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.ENOLCK)


def refusal(root: Path, error: OSError) -> str:
    """Why a runner does not begin that cannot lock a file by this error."""
    job = make_job(root, ["true"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lock, "acquire", MagicMock(side_effect=error))
        with pytest.raises(claim.Refused) as refused:
            claim.take(job, job.run_dir, lambda: False)
    return str(refused.value)


def test_the_remedy_is_that_of_the_error(tmp_path: Path) -> None:
    refusals = [refusal(tmp_path, OSError(number, os.strerror(number))) for number in ERRORS]
    assert all(os.strerror(number) in why for number, why in zip(ERRORS, refusals))
    assert len({why.rpartition("; ")[2] for why in refusals}) == len(ERRORS)
