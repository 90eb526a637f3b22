# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback that imports a verb before Ansible forks the workers of its tasks."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from ansible.playbook.task import Task

from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Play
from ansible_collections.muster.train.tests.support.play import ROOT

LAUNCH = f"{Play.__module__.rpartition('.')[0]}.launch"


@pytest.mark.parametrize(
    ("action", "step", "is_imported"),
    [
        ("muster.train.step", "launch.start", True),
        ("muster.train.step", "launch.unknown", True),
        ("muster.train.step", "unknown.step", False),
        ("ansible.builtin.service", "launch.start", False),
    ],
)
def test_the_verb_of_a_step_is_imported_when_its_task_begins(
    action: str, step: str, is_imported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("steps", ROOT / "playbooks/callback_plugins/muster_steps.py")
    assert spec is not None
    assert spec.loader is not None
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    monkeypatch.delitem(sys.modules, LAUNCH, raising=False)
    task = Task()
    task.action, task.args = action, {"name": step}
    plugin.CallbackModule().v2_playbook_on_task_start(task, False)
    assert (LAUNCH in sys.modules) is is_imported
