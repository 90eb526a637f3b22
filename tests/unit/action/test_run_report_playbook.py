# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_report` once through ansible-playbook itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.reports import RUN_ID, TRAP, failing

ROOT = Path(__file__).resolve().parents[3]


PLAYBOOK = """
- name: Status
  hosts: nodes
  gather_facts: false
  tasks:
    - name: Read
      muster.train.run_info:
        workdir: "{{ launch_workdir }}"
        node: "{{ inventory_hostname }}"
      register: launch__info
      ignore_errors: true
    - name: Choose
      muster.train.run_pick:
      run_once: true
      register: launch__run
    - name: Write
      muster.train.run_experiment:
        request: {verb: collect, experiments: "{{ playbook_dir }}/experiments"}
      run_once: true
    - name: Show
      muster.train.run_report:
        what: result
        run_id: "{{ launch__run.run_id }}"
        succeed_on: [succeeded]
      run_once: true
"""


@pytest.mark.slow
def test_through_ansible_playbook(tmp_path: Path) -> None:
    """Two nodes that failed and one whose Python is missing; every word of theirs is a template that must not run."""
    hosts: dict[str, dict[str, str]] = {"node2": {"launch_workdir": "/", "ansible_python_interpreter": "/no/python"}}
    for node, answer in failing().items():
        run_dir = tmp_path / node / ".muster" / "nodes" / node / "runs" / RUN_ID
        run_dir.mkdir(parents=True)
        times = {"created": "2026-11-20T14:30:52Z", "started": "2026-11-20T14:30:53Z", "ended": "2026-11-20T14:31:24Z"}
        state = {**answer["launch__info"]["run"], **times, "why": TRAP, "boot_id": TRAP}
        (run_dir / "state.json").write_text(json.dumps(state))
        hosts[node] = {"launch_workdir": str(tmp_path / node)}
    inventory = {"nodes": {"hosts": dict(sorted(hosts.items())), "vars": {"ansible_connection": "local"}}}
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    (tmp_path / "playbook.yml").write_text(PLAYBOOK)
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "hosts.json", "playbook.yml"]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_NOCOLOR": "1"}
    environment.update(ANSIBLE_PYTHON_INTERPRETER=sys.executable, ANSIBLE_HOME=str(tmp_path / "ansible"))
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert f"{RUN_ID}  failed · 4 ranks on 2 nodes · 31 s" in lines, done.stdout
    assert "  node1: rank 3 killed by SIGSEGV" in lines
    assert f"    | {TRAP}" in lines
    assert f"{RUN_ID} failed: node1: rank 3 killed by SIGSEGV" in done.stdout + done.stderr
    assert any(line.startswith("node2 ") for line in lines)
    assert "Traceback" not in done.stdout + done.stderr
    assert '"cause"' not in done.stdout + done.stderr
    assert list(tmp_path.rglob("evaluated")) == []
    assert (tmp_path / "experiments" / "latest" / "run.yml").is_file()
