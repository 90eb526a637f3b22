# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a refused request as a program reads it."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import expected
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.requests import make

CHANNELS = next(parameter for parameter in VERBS["launch"] if parameter.name == "channels")


def test_a_program_reads_the_parts_of_a_refusal() -> None:
    with pytest.raises(InvalidRequest) as caught:
        make({"channels": "many", "script": "a.py", "module": "b"})
    bad, both = caught.value.records()
    assert bad == {
        "node": None,
        "check": "channels",
        "observed": "'many'",
        "expected": expected(CHANNELS),
        "source": "-e channels",
        "remedy": None,
        "message": str(caught.value).partition("\n")[0],
    }
    assert [name for name, value in both.items() if value] == ["message"]


def test_a_refused_secret_is_in_no_part_of_its_refusal() -> None:
    with pytest.raises(InvalidRequest) as caught:
        make({"script": "a.py", "env": {"WANDB_API_KEY": "s3cr3t"}})
    [error] = caught.value.records()
    assert error["check"] == "env"
    assert "s3cr3t" not in str(error)
