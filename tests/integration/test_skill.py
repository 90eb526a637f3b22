# SPDX-License-Identifier: GPL-3.0-or-later
"""SKILL.md: its commands work as written, in their order, and each prints a document that its schema describes."""

from __future__ import annotations

import json
import re
import shlex

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, run_to_end

COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "SKILL.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


def test_its_commands_work_in_their_order(cluster: Cluster) -> None:
    cluster.policy["launch_defaults"] = {"script": "sleeper.py", "nproc": 1, "script_args": ["--seconds", "600"]}
    cluster.ignore_machine()
    run_id, verbs, verdicts = "", [], {}
    for line in COMMANDS:
        program, *words = shlex.split(line.replace("INVENTORY", str(cluster.inventory)).replace("RUN_ID", run_id))
        assert program == "ansible-playbook"
        ended = run_to_end([*PLAYBOOK, *words], cluster.environment(), apart=True)
        document = json.loads(ended.out)
        messages = [error["message"] for error in document["errors"]]
        assert (ended.rc, messages, documents.errors(document)) == (0, [], []), line
        run_id = document.get("run_id") or run_id
        verbs.append(document["verb"])
        verdicts[document["verb"]] = document.get("verdict")
    # None of them needs a person's yes.
    of_an_active_run = ["preflight", "launch", "launch", "status", "logs", "stacks", "stop"]
    assert verbs == [*of_an_active_run, "collect", "doctor", "list", "report"]
    assert [verdicts[verb]["verdict"] for verb in ("status", "stop", "collect")] == ["running", "stopped", "stopped"]
    assert verdicts["report"] == "stopped"
