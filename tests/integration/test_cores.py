# SPDX-License-Identifier: GPL-3.0-or-later
"""Every verb by the oldest ansible-core that meta/runtime.yml allows, and by the newest.

MUSTER_TEST_CORES="2.19.14 2.20.8" names others.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT

pytestmark = pytest.mark.cores

OLDEST = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"].removeprefix(">=")
# The newest that was tried. It needs a newer Python than the tests do.
NEWEST, NEWEST_PYTHONS = "2.21.5", ("python3.14", "python3.13", "python3.12")
VERSIONS = os.environ.get("MUSTER_TEST_CORES", f"{OLDEST} {NEWEST}").split()
PROBE = "import ensurepip, sys, venv; print(sys.executable)"


def newer_python() -> str:
    """Return a Python that the newest ansible-core runs on; skip the test without one."""
    for name in filter(shutil.which, NEWEST_PYTHONS):
        probe = subprocess.run([name, "-c", PROBE], capture_output=True, text=True, check=False)
        if probe.returncode == 0:
            return probe.stdout.strip()
    pytest.skip(f"none of {', '.join(NEWEST_PYTHONS)} runs here; `make test-cores` provides one on Debian 12")


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


def copy_code(cluster: Cluster) -> list[Path]:
    """Copy a file to both nodes, as setup does; return where it has to be."""
    code = cluster.home / "code of the controller"
    code.mkdir()
    (code / "train.py").write_text("print()\n")
    variables = {
        "code_source": "rsync",
        "code_rsync_path": str(code),
        "code_dir": f"{cluster.home}/copy of {{{{ inventory_hostname }}}}",
    }
    prepared = cluster.play("playbooks/setup.yml", "--tags", "code", "-e", json.dumps(variables))
    assert prepared.rc == 0, prepared.out
    return [cluster.home / f"copy of {node}" / "train.py" for node in cluster.names]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_verb_by_another_ansible_core(version: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    python = sys.executable if version.startswith("2.19.") else newer_python()
    cluster.controller = str(make_controller(version, python))
    cluster.ignore_machine()
    # The collections that Muster depends on are in the package ansible of the tests' own environment.
    paths = [str(ROOT / "collections"), sysconfig.get_path("purelib")]
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", os.pathsep.join(paths))

    for verb, line in (("detect", "cluster: 2 nodes, 2 answered"), ("preflight", "preflight: 2 nodes, 2 answered; ")):
        checked = cluster.verb(verb)
        assert checked.rc == 0, checked.out
        assert line in checked.out
    copied = copy_code(cluster)
    assert [file.read_text() for file in copied] == ["print()\n"] * 2

    launched = cluster.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    cluster.wait_phase(RUN_ID, "running")
    status = cluster.verb("status")
    assert (status.rc, status.phases) == (0, {"node0": "running", "node1": "running"}), status.out
    logs = cluster.verb("logs", run_id=RUN_ID, lines=5)
    assert logs.rc == 0, logs.out
    assert "node0/rank0 | " in logs.out
    stopped = cluster.verb("stop")
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    followed = cluster.verb("follow", run_id=RUN_ID)
    assert f"{RUN_ID}  stopped · 2 ranks on 2 nodes" in followed.out
    for verb in ("collect", "list"):
        played = cluster.verb(verb)
        assert played.rc == 0, played.out
        assert RUN_ID in played.out
    assert cluster.record()["versions"]["ansible_core"] == version
    removed = cluster.verb("teardown")
    assert removed.rc == 0, removed.out
    # Nothing listens there, which the refusal says.
    discovered = cluster.verb("discover", cluster="lab", nodes="127.0.1.9:1")
    assert discovered.rc == 2
    assert "nothing listens on port 1 of 127.0.1.9" in discovered.out
