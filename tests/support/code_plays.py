# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays of the role `code` on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, Played, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import environment

PLAY = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_role": {"name": "muster.train.code"}}],
    }
]


def play(folder: Path, plays: list[dict[str, Any]], values: dict[str, Any], *options: str) -> Played:
    """Run plays on this machine."""
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps(plays))
    (folder / "values.json").write_text(json.dumps({"ansible_python_interpreter": sys.executable, **values}))
    words = [*options, "-c", "local", "-e", f"@{folder / 'values.json'}", str(playbook)]
    return run_to_end([*PLAYBOOK, *words], environment())
