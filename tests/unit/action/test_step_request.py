# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `step` where it carries the step that makes the request."""

from __future__ import annotations

import pytest
from ansible._internal._datatag._tags import VaultedValue
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.plugin_utils._request.encrypted import refuse_encrypted
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, Conclusion, Play
from ansible_collections.muster.train.tests.unit.action.test_step import CHECKED, Stage


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


@pytest.mark.parametrize("checked", [{}, CHECKED])
def test_it_needs_no_request_and_ignores_an_earlier_one(stage: Stage, checked: dict[str, object]) -> None:
    def make(play: Play) -> Conclusion:
        return Conclusion(result={"before": dict(play.request), "line": play.read_command_line().options[0][0]})

    made = stage.run(Conclude(make, makes_request=True), checked=checked)
    assert made == {"changed": False, "before": {}, "line": "output=table"}


def test_it_reads_what_a_vault_encrypts_and_what_templates_name(stage: Stage) -> None:
    secret = VaultedValue(ciphertext="$ANSIBLE_VAULT;1.1;AES256").tag("hunter2")
    host = {"a": trust_as_template("{{ vault_a }}"), "vault_a": secret}

    def look(play: Play) -> Conclusion:
        refused = refuse_encrypted(play.read_tagged("node0", ["a"]).items())
        return Conclusion(result={"refused": len(refused), "raw": play.read_raw("node0")["a"]})

    assert stage.run(Conclude(look), hosts={"node0": host}) == {"changed": False, "refused": 1, "raw": "{{ vault_a }}"}
