#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches a run from Python: python launch.py INVENTORY SCRIPT [ARGUMENT ...]

It prints what Muster does while it does it, then the verdict, and ends with 0 if the run succeeded. It needs
ansible-runner, and nothing of Muster but its collection.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from ansible_runner.interface import run


class Launch:
    """One launch: its events as they arrive, and what is known of it so far."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {}
        self.task = ""

    def on_event(self, event: dict[str, Any]) -> bool:
        """Read one of Ansible's events; whether ansible-runner keeps it as a file, too."""
        data = event.get("event_data", {})
        if event["event"] in ("playbook_on_task_start", "playbook_on_handler_task_start"):
            self.task = data["task"]
            print(f"- {self.task}", flush=True)
        # A task that speaks for all nodes returns what the document of the verb has so far; the last one counts.
        part = (data.get("res") or {}).get("verb_document")
        if part:
            self.document.update(part)
        return False


def launch(inventory: str, script: str, arguments: list[str]) -> tuple[int, dict[str, Any]]:
    """Launch a run and follow it to its end; return the exit code and the last document."""
    current = Launch()
    with tempfile.TemporaryDirectory() as private:
        ended = run(
            private_data_dir=private,
            playbook="muster.train.launch",
            inventory=os.path.abspath(inventory),
            extravars={"script": script, "script_args": arguments, "output": "json"},
            event_handler=current.on_event,
            quiet=True,
        )
    return int(ended.rc), current.document


def main(argv: list[str]) -> int:
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    code, document = launch(argv[1], argv[2], argv[3:])
    for error in document.get("errors", []):
        print(f"{error['node'] or 'cluster'}: {error['message']}")
    verdict = document.get("verdict")
    if verdict:
        print(f"{document['run_id']}: {verdict['verdict']} in {verdict['elapsed_s']} s")
        print(f"results: {document['experiment']}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
