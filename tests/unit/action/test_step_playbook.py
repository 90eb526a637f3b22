# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a verb once through ansible-playbook itself: `collect`, of nodes whose words are templates."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, run_to_end
from ansible_collections.muster.train.tests.support.reports import RUN_ID, TRAP, failing

TIMES = {"created": "2026-11-20T14:30:52Z", "started": "2026-11-20T14:30:53Z", "ended": "2026-11-20T14:31:24Z"}
OF_THREE = {"nnodes": 3, "world_size": 6}
WORDS = dict.fromkeys(("why", "boot_id", "label", "slot", "user", "launched_from"), TRAP)


@pytest.mark.slow
def test_collect_through_ansible_playbook(tmp_path: Path) -> None:
    """Two nodes that failed and one whose Python is missing; every word of theirs is a template that must not run."""
    hosts: dict[str, dict[str, str]] = {"node2": {"launch_workdir": "/", "ansible_python_interpreter": "/no/python"}}
    for node, answer in failing().items():
        run_dir = tmp_path / node / ".muster" / "nodes" / node / "runs" / RUN_ID
        (run_dir / "outputs").mkdir(parents=True)
        (run_dir / "outputs" / f"{TRAP}.txt").write_text(TRAP)
        state = {**answer["launch__info"]["run"], **TIMES, **OF_THREE, **WORDS}
        (run_dir / "state.json").write_text(json.dumps(state))
        hosts[node] = {"launch_workdir": str(tmp_path / node)}
    inventory = {"nodes": {"hosts": dict(sorted(hosts.items())), "vars": {"ansible_connection": "local"}}}
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_NOCOLOR": "1"}
    environment.update(ANSIBLE_PYTHON_INTERPRETER=sys.executable, ANSIBLE_HOME=str(tmp_path / "ansible"))
    played = run_to_end([*PLAYBOOK, "-i", "hosts.json", "muster.train.collect"], environment, tmp_path)
    assert played.rc == 2, played.out
    expected = [
        "node1  1          failed   2-3    31 s     rank 3 killed by SIGSEGV",
        "node2             unknown                  no Python was found on node2",
        f"{RUN_ID}  failed · 6 ranks on 3 nodes · 31 s",
        "  node1: rank 3 killed by SIGSEGV",
        f"    | {TRAP}",
    ]
    lines = played.out.splitlines()
    assert [line for line in lines if line in expected] == expected, played.out
    assert "node2: no files of the run were collected; fix that and repeat the command" in played.words
    assert "Traceback" not in played.out
    assert '"cause"' not in played.out
    assert list(tmp_path.rglob("evaluated")) == []
    assert (tmp_path / "experiments" / "latest" / "run.yml").is_file()
    copies = (tmp_path / "experiments" / RUN_ID / "outputs").rglob(f"{TRAP}.txt")
    assert [copy.read_text() for copy in copies] == [TRAP, TRAP]
