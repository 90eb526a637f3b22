# SPDX-License-Identifier: GPL-3.0-or-later
"""A runner compiles at each start what it imports: only its own side of the gang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[5]
RUNNER = "ansible_collections.muster.train.plugins.module_utils.runner"


@pytest.mark.parametrize(
    ("module", "absent"),
    [("main", {"head", "coordinator", "member"}), ("gang.member", {"head", "coordinator", "restarts"})],
)
def test_a_runner_imports_only_its_side(module: str, absent: set[str]) -> None:
    script = f"import sys, {RUNNER}.{module}\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT / "collections", check=True, capture_output=True, text=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split() if name.startswith(f"{RUNNER}.gang.")}
    assert "base" in loaded
    assert loaded & absent == set()
