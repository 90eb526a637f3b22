# SPDX-License-Identifier: GPL-3.0-or-later
"""The action as `ansible-playbook` runs it, in an empty directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars

from ansible_collections.muster.train.plugins.action import verb_request as action
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of
from ansible_collections.muster.train.tests.support.asking import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the action as `ansible-playbook launch.yml` with these options would, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for variable in ("CHANNELS", "THREADS", "CONFIG_FILE", "NPROC_PER_NODE", "LABEL", "MASTER_PORT"):
        monkeypatch.delenv(variable, raising=False)

    def run(
        *extra_vars: str,
        verb: str = "launch",
        args: dict[str, Any] | None = None,
        hostvars: dict[str, dict[str, Any]] | None = None,
        subset: str | None = None,
        task_vars: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        check: bool = False,
    ) -> dict[str, Any]:
        argv = ["/venv/bin/ansible-playbook", f"{verb}.yml", *(word for text in extra_vars for word in ("-e", text))]
        monkeypatch.setattr(sys, "argv", argv)
        given = {"extra_vars": extra_vars, "inventory": ("/clusters/lab",), "subset": subset, **(options or {})}
        monkeypatch.setattr(context, "CLIARGS", CLIArgs(given))
        monkeypatch.setattr(load_extra_vars, "extra_vars", None, raising=False)
        hosts = hostvars if hostvars is not None else {"node0": {"launch_defaults": {"script": "t.py"}}, "node1": {}}
        task = MagicMock(args={"verb": verb, **(args or {})}, async_val=0, check_mode=check)
        groups = {"nodes": list(hosts)} if hosts else {}
        variables = {"groups": groups, "hostvars": Hosts(hosts), **(task_vars or {})}
        templar = Templar(loader=DataLoader(), variables=variables)
        plugin = action.ActionModule(task, MagicMock(), MagicMock(), DataLoader(), templar, None)
        return result_of(plugin, variables)

    return run
