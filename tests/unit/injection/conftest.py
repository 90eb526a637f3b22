# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus for the tests of this folder, and what they all hold to: no text made a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.tests.support.corpus import corpus


@pytest.fixture(scope="module", autouse=True)
def texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    canaries = tmp_path_factory.mktemp("injection") / "canaries"
    yield corpus(canaries)
    assert list(canaries.iterdir()) == []
