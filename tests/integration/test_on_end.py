# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens when a run ends: a command on the controller, or a notice that the head sends."""

from __future__ import annotations

import json
import shlex
import sys

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

SAVES = """
import json, os, sys
environment = {name: value for name, value in os.environ.items() if name.startswith("MUSTER_")}
json.dump({"environment": environment, "verdict": json.load(sys.stdin)}, open(sys.argv[1], "w"))
raise SystemExit(4)
"""


def test_a_command_gets_the_verdict_and_does_not_change_it(cluster: Cluster) -> None:
    script, saved = cluster.home / "save it.py", cluster.home / "saved.json"
    script.write_text(SAVES)
    command = shlex.join([sys.executable, str(script), str(saved)])
    launched = cluster.launch(follow=True, script_args=["--seconds", "1"], on_end=command)
    assert launched.rc == 0, launched.out
    assert f"{RUN_ID}  succeeded" in launched.out
    given = json.loads(saved.read_text())
    assert given["verdict"]["verdict"] == "succeeded"
    assert given["environment"] == {
        "MUSTER_RUN_ID": RUN_ID,
        "MUSTER_VERDICT": "succeeded",
        "MUSTER_EXPERIMENT": str(cluster.experiments / RUN_ID),
    }


def test_the_command_of_a_run_that_failed_runs_after_the_verdict(cluster: Cluster) -> None:
    saved = cluster.home / "saved.json"
    arguments = ["--seconds", "60", "--fail-rank", "1", "--how", "exit7"]
    command = shlex.join(["cp", "/dev/stdin", str(saved)])
    launched = cluster.launch(follow=True, script_args=arguments, on_end=command)
    assert launched.rc != 0
    assert json.loads(saved.read_text())["verdict"] == "failed"
    assert launched.out.index("Report the verdict]") < launched.out.index("Run the command for the end of a run]")


def test_an_address_in_a_secret_that_is_missing_is_refused_on_the_head(cluster: Cluster) -> None:
    refused = cluster.launch(on_end="secret:HOOK")
    assert refused.rc != 0
    assert "node0: on_end: secret:HOOK names no web address; put one into launch_secrets under this name" in " ".join(
        refused.out.split()
    )
    assert cluster.processes() == []
