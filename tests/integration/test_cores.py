# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run from its launch to its stop by the oldest ansible-core that meta/runtime.yml allows, and by the newest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.tests.support.cluster import ROOT, RUN_ID, Cluster

OLDEST = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"].removeprefix(">=")
# The newest that was tried. It needs a newer Python than the tests do.
NEWEST, NEWEST_PYTHONS = "2.21.5", ("python3.14", "python3.13", "python3.12")
PROBE = "import ensurepip, sys, venv; print(sys.executable)"


def newer_python() -> str:
    """Return a Python that the newest ansible-core runs on; skip the test without one."""
    for name in filter(shutil.which, NEWEST_PYTHONS):
        probe = subprocess.run([name, "-c", PROBE], capture_output=True, text=True, check=False)
        if probe.returncode == 0:
            return probe.stdout.strip()
    pytest.skip(f"none of {', '.join(NEWEST_PYTHONS)} runs here; ansible-core {NEWEST} needs one")


def make_controller(version: str, python: str) -> Path:
    """Return the Python of a virtual environment with an ansible-core, made once for a checkout."""
    home = ROOT / ".cache" / "cores" / version
    ready = home / "ready"
    if not ready.exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([python, "-m", "venv", home], check=True)
        install = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*install, "--disable-pip-version-check", f"ansible-core=={version}"], check=True)
        ready.touch()
    return home / "bin" / "python"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_a_run_by_another_ansible_core(version: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    python = newer_python() if version == NEWEST else sys.executable
    cluster.controller = str(make_controller(version, python))
    # The collections that Muster depends on are in the package ansible of the tests' own environment.
    paths = [str(ROOT / "collections"), sysconfig.get_path("purelib")]
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", os.pathsep.join(paths))

    launched = cluster.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    cluster.wait_phase(RUN_ID, "running")
    status = cluster.verb("status")
    assert (status.rc, status.phases) == (0, {"node0": "running", "node1": "running"}), status.out
    stopped = cluster.verb("stop")
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    assert cluster.record()["versions"]["ansible_core"] == version
