# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `become_check`: a become that fails is never passed over, whatever it says."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.muster.train.plugins.action.become_check import ActionModule
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError


class Fake(ActionModule):
    """Answers the command as a node does, or fails as Ansible does."""

    answer: dict[str, Any] | Exception

    def _low_level_execute_command(self, *_words: Any, **_options: Any) -> dict[str, Any]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _get_remote_user(self) -> str:
        return "ann"


def check(answer: dict[str, Any] | Exception) -> dict[str, Any]:
    connection = Mock()
    connection.become.name = "sudo"
    action = Fake(Mock(), connection, Mock(), Mock(), Mock(), Mock())
    action.answer = answer
    return action.perform({}, {"inventory_hostname": "gpu01"})


def failed(text: str) -> dict[str, Any]:
    return {"rc": 1, "stdout": "", "stderr": text}


def test_a_user_who_becomes_root() -> None:
    assert check({"rc": 0, "stdout": "", "stderr": "a banner"}) == {}


@pytest.mark.parametrize(
    ("answer", "observed"),
    [
        (failed("sudo: a password is required\n"), "without a password (sudo: a password is required)"),
        (failed("ann is not in the sudoers file.\n"), "cannot run sudo on gpu01 (ann is not in the sudoers file.)"),
        (failed("unfamiliar words\n"), "ann cannot run sudo on gpu01 (unfamiliar words)"),
        (failed("doas: Permission denied"), "ann cannot run sudo on gpu01 (doas: Permission denied)"),
        (failed(""), "ann cannot run sudo on gpu01 (it printed nothing)"),
        (AnsibleError("Timeout (12s) waiting for privilege escalation prompt: "), "ann cannot run sudo on gpu01"),
    ],
)
def test_a_become_that_fails_is_refused(answer: dict[str, Any] | Exception, observed: str) -> None:
    with pytest.raises(PlanError) as refused:
        check(answer)
    text = str(refused.value)
    assert text.startswith("gpu01: sudo: ")
    assert observed in text
    assert "(become_method sudo)" in text


def test_a_node_that_does_not_answer_is_not_a_matter_of_sudo() -> None:
    with pytest.raises(AnsibleConnectionFailure):
        check(AnsibleConnectionFailure("ssh: connect to host gpu01 port 22: Connection refused"))
