# SPDX-License-Identifier: GPL-3.0-or-later
"""An action that follows a run, and what it prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.tests.support.following import Fake, Make, Read


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the user sees, warnings too."""
    lines: list[str] = []
    display = MagicMock()
    display.display = lambda line, **_options: lines.append(line)
    display.warning = lines.append
    monkeypatch.setattr(screen, "display", display)
    return lines


@pytest.fixture
def make(printed: list[str]) -> Make:
    def made(*parts: Iterator[Read] | list[Read], answers: Sequence[Any] = (), **args: Any) -> Fake:
        return Fake(chain.from_iterable(parts), answers, **args)

    return made
