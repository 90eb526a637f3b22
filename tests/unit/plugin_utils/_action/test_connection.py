# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of modules whose connection ended: a reason that was lost is asked for once more, by every action."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._action.connection import ModuleRunner, is_lost
from ansible_collections.muster.train.tests.support.play import ROOT

ADVICE = "Make sure this host can be reached over"
REFUSED = "ssh: connect to host n1 port 22: Connection refused"


@pytest.mark.parametrize(
    ("message", "lost"),
    [
        (f'Data could not be sent to remote host "n1". {ADVICE} ssh: ', True),
        (f"Data could not be sent to remote host 'n1'. {ADVICE} SSH.", True),
        (f"Data could not be sent to remote host 'n1'. {ADVICE} SSH: [Errno 32] Broken pipe", True),
        (f'Data could not be sent to remote host "n1". {ADVICE} ssh: {REFUSED}', False),
        (f"Failed to connect to the host via ssh: {REFUSED}", False),
    ],
)
def test_a_message_without_the_words_of_ssh_is_lost(message: str, lost: bool) -> None:
    assert is_lost(message) is lost


class FailingConnection(ActionBase):
    """An action whose modules and commands fail with these messages, and then succeed."""

    def __init__(self, modules: list[str], commands: list[str]) -> None:
        self.modules, self.commands = modules, commands

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        return {}

    def _execute_module(self, *_words: Any, **_options: Any) -> dict[str, Any]:
        if self.modules:
            raise AnsibleConnectionFailure(self.modules.pop(0))
        return {"answered": True, "invocation": {"module_args": {}}}

    def _low_level_execute_command(self, *_words: Any, **_options: Any) -> dict[str, Any]:
        if self.commands:
            raise AnsibleConnectionFailure(self.commands.pop(0))
        return {"rc": 0}


class Runner(ModuleRunner, FailingConnection):
    pass


LOST = f'Data could not be sent to remote host "n1". {ADVICE} ssh: '


def test_the_reason_is_what_ssh_says_to_a_command() -> None:
    with pytest.raises(AnsibleConnectionFailure, match=r"^Host key verification failed\.$"):
        Runner([LOST], ["Host key verification failed."])._execute_module("m")


def test_where_the_command_runs_the_module_runs_again() -> None:
    assert Runner([LOST], [])._execute_module("m") == {"answered": True}
    with pytest.raises(AnsibleConnectionFailure, match=REFUSED):
        Runner([f"Failed to connect to the host via ssh: {REFUSED}"], [])._execute_module("m")


@pytest.mark.parametrize("verbosity", [0, 2, 3])
def test_a_result_has_the_options_of_its_module_only_where_they_are_shown(
    verbosity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Display(), "verbosity", verbosity)
    assert ("invocation" in Runner([], [])._execute_module("m")) is (verbosity >= 3)


def test_every_action_asks_once_more() -> None:
    for path in ROOT.glob("plugins/action/[!_]*.py"):
        plugin = importlib.import_module(f"ansible_collections.muster.train.plugins.action.{path.stem}").ActionModule
        assert issubclass(plugin, ModuleRunner), path
