# SPDX-License-Identifier: GPL-3.0-or-later
"""Plants each defect of defects.yml in a copy of the checkout: the simulation must find it in few histories."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support.mutations import mutate
from ansible_collections.muster.train.tools.sanity import copy_checkout

# About ten seconds of CPU.
HISTORIES = 400
DEFECTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("defects.yml").read_text())


def find_defects() -> int:
    """Print for each defect what finds it; return whether one is not found."""
    with tempfile.TemporaryDirectory(prefix="muster-simulation-") as place:
        checkout = Path(place)
        copy_checkout(checkout)
        link = checkout / "collections/ansible_collections/muster/train"
        link.parent.mkdir(parents=True)
        link.symlink_to(checkout)
        missed = [defect["name"] for defect in DEFECTS if not _is_found(checkout, defect)]
    print(f"{len(DEFECTS) - len(missed)} of {len(DEFECTS)} defects found")
    return int(bool(missed))


def _is_found(checkout: Path, defect: dict[str, Any]) -> bool:
    file = checkout / "plugins/module_utils/runner" / defect["file"]
    text = file.read_text()
    file.write_text(mutate(text, defect))
    command = [sys.executable, "tests/simulation/suite.py", "--until-first", "--histories", str(HISTORIES)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    file.write_text(text)
    lines = done.stdout.splitlines()
    is_found = done.returncode == 1 and len(lines) > 1
    print(
        f"{defect['name']}: {lines[0] + '; ' + lines[-1] if is_found else 'NOT FOUND ' + done.stderr[-300:]}",
        flush=True,
    )
    return is_found
