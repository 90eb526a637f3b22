# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines match, and a pattern that would never finish."""

from __future__ import annotations

import signal

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import grep


def test_matches() -> None:
    assert grep.Grep("loss|Error").matches(["loss 5", "ok", "an Error"]) == [True, False, True]
    assert grep.Grep(None).matches(["a", ""]) == [True, True]


def search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep, "LIMIT_S", 0.1)
    grep.Grep("(a+)+$").matches(["a" * 60 + "!"])


def test_a_pattern_that_does_not_finish_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(UserError):
        search(monkeypatch)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
