# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the inventory plugin `slurm` where there is no Slurm, through Ansible's own inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.play import ROOT

pytestmark = pytest.mark.slow
INVENTORY = [sys.executable, "-m", "ansible", "inventory", "--list", "--export"]


EXAMPLE = "inventories/slurm/slurm.yml"
# Two jobs by their names, and only where nothing else is asked for.
SQUEUE = """#!/bin/sh
[ -z "$SQUEUE_STATES" ] || exit 0
case "$*" in
*--name=one) echo '1|RUNNING|None|gpu01|1796004120|1827540120|UNLIMITED|one' ;;
*--name=two) echo '2|RUNNING|None|gpu02|1796004120|1827540120|UNLIMITED|two' ;;
esac
"""


def inventory(tmp_path: Path, *sources: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `ansible-inventory --list` makes of the checkout's example on a machine without Slurm, or of others."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / "env").symlink_to("/usr/bin/env")
    return subprocess.run(
        [*INVENTORY, *(word for source in sources or [EXAMPLE] for word in ("-i", source))],
        env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg", "PATH": str(tmp_path / "bin"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_slurm_there_is_one_error(tmp_path: Path) -> None:
    done = inventory(tmp_path, MUSTER_SLURM_JOB_ID="7")
    assert done.returncode == 4
    assert done.stderr.count("squeue") == 1
    assert done.stdout == ""


def test_where_an_inventory_may_fail_the_others_are_read(tmp_path: Path) -> None:
    done = inventory(tmp_path, EXAMPLE, "gpu09,", MUSTER_SLURM_JOB_ID="7", ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="0")
    assert "gpu09" in json.loads(done.stdout)["ungrouped"]["hosts"]


def test_two_jobs_are_two_inventories(tmp_path: Path) -> None:
    """Also where the user's profile has options of squeue."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "slurm.yml").write_text(f"plugin: muster.train.slurm\njob_name: {name}\n")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in {"squeue": SQUEUE, "scontrol": "#!/bin/sh\n"}.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    sources = (str(tmp_path / name / "slurm.yml") for name in ("one", "two"))
    done = inventory(tmp_path, *sources, SQUEUE_STATES="PENDING")
    assert json.loads(done.stdout)["nodes"]["hosts"] == ["gpu01", "gpu02"]


def test_nodes_that_are_named_need_no_slurm(tmp_path: Path) -> None:
    done = inventory(tmp_path, MUSTER_SLURM_CONNECTION="local", MUSTER_SLURM_NODE_LIST="gpu[09-10],gpu02")
    groups = json.loads(done.stdout)
    assert groups["nodes"]["hosts"] == ["gpu09", "gpu10", "gpu02"]
    assert groups["nodes"]["vars"]["ansible_connection"] == {"__ansible_unsafe": "local"}
    assert done.stderr == ""
