# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a refused request as a program reads it."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.tests.support.requests import make


def test_a_program_reads_the_parts_of_a_refusal() -> None:
    with pytest.raises(InvalidRequest) as caught:
        make({"channels": "many", "script": "a.py", "module": "b"})
    bad, both = caught.value.records()
    assert bad == {
        "node": None,
        "check": "channels",
        "observed": "'many'",
        "expected": "a whole number from 1 to 128",
        "source": "-e channels",
        "remedy": None,
        "message": "channels: expected a whole number from 1 to 128, saw 'many' (-e channels)",
    }
    assert str(both["message"]).startswith("script: expected a script or a module, ")
