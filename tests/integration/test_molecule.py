# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every molecule scenario passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.hosts

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


def test_there_is_a_scenario() -> None:
    # Without one, pytest would skip the test below.
    assert SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MOLECULE_GLOB": "molecule/*/molecule.yml",
        "NO_COLOR": "1",
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
        # Molecule starts ansible-playbook by name.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    done = subprocess.run(
        [sys.executable, "-m", "molecule", "test", "--scenario-name", scenario],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
