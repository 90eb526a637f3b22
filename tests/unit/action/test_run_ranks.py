# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_ranks`: how it reads the head's plan."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from unittest.mock import Mock

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.muster.train.plugins.action.run_ranks import ActionModule
from ansible_collections.muster.train.tests.support.actions import Hosts


class Fake(ActionModule):
    """Answers as `run_file` does, with a digest that is given or right."""

    digest: str | None = None
    asked: dict[str, Any]

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        self.asked = words[1]
        digest = self.digest or hashlib.sha256(b"{}").hexdigest()
        return {"content": base64.b64encode(b"{}").decode(), "sha256": digest, "last": True}


def read(host: dict[str, Any], digest: str | None = None) -> tuple[Fake, tuple[str | None, str]]:
    variables = {"launch_workdir": trust_as_template("{{ home }}/muster"), "home": "/h", "hostvars": Hosts(node0=host)}
    action = Fake(Mock(), Mock(), Mock(), DataLoader(), Templar(loader=DataLoader(), variables=variables), Mock())
    action.digest = digest
    return action, action._read_plan({"head": "node0", "run_id": "run1"}, variables)


@pytest.mark.parametrize(
    ("host", "workdir"),
    [
        ({}, "/h/muster"),  # the role's default, which hostvars does not have
        ({"launch_workdir": "/w"}, "/w"),
        ({"launch_workdir": trust_as_template("{{ home }}/w"), "home": "/own"}, "/own/w"),
    ],
)
def test_the_head_s_plan_is_read_below_its_workdir(host: dict[str, Any], workdir: str) -> None:
    action, answer = read(host)
    assert answer == ("{}", "")
    assert action.asked["workdir"] == workdir


def test_a_copy_that_differs() -> None:
    assert read({}, digest="0" * 64)[1] == (None, "node0: the copy differs from the file on the node (sha256)")
