# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the exceptions that a rank printed explains how it ended."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_rank, last_exception, with_output
from ansible_collections.muster.train.plugins.module_utils._records.raised import Raised
from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure

ENDED = 36000.0


@pytest.mark.parametrize(
    ("signal", "is_uncaught", "is_aside", "exception"),
    [
        pytest.param("SIGSEGV", False, False, None, id="a crash long after one that was handled"),
        pytest.param("SIGBUS", False, False, None, id="no memory long after one that was handled"),
        pytest.param("SIGKILL", True, True, None, id="a kill long after that of a thread"),
        pytest.param("SIGKILL", True, False, "ValueError", id="a kill of a rank that hung after its exception"),
        pytest.param("SIGABRT", False, False, "ValueError", id="an abort while the interpreter ended"),
        pytest.param(None, False, False, "ValueError", id="an exit code"),
    ],
)
def test_an_early_exception(signal: str | None, is_uncaught: bool, is_aside: bool, exception: str | None) -> None:
    raised = Raised("ValueError", "no label", time=10.0, is_aside=is_aside, is_uncaught=is_uncaught)
    failure = RankFailure(rank=3, signal=signal, exit_code=None if signal else 1, time=ENDED)
    assert judge_rank(with_output(failure, raised), []).exception == exception


def test_a_local_class_is_a_type() -> None:
    line = "[rank0]: main.<locals>.ConfigError: no layers"
    message = last_exception([line])
    judged = judge_rank(RankFailure(rank=0, message=message), [])
    assert (judged.exception, judged.message) == (
        "main.<locals>.ConfigError",
        "main.<locals>.ConfigError: no layers",
    )
