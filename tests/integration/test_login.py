# SPDX-License-Identifier: GPL-3.0-or-later
"""A login that talks: whatever its `.bashrc` prints is not part of what is read and copied from a node."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.collected import target
from ansible_collections.muster.train.tests.support import sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

SFTP_SERVER = Path("/usr/lib/openssh/sftp-server")
SHELL = Path(pwd.getpwuid(os.geteuid()).pw_shell).name
pytestmark = [
    pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing())),
    pytest.mark.skipif(not SFTP_SERVER.exists(), reason=f"{SFTP_SERVER} not found: apt install openssh-sftp-server"),
    pytest.mark.skipif(SHELL != "bash", reason=f"only bash reads .bashrc for a command over ssh; the shell is {SHELL}"),
]
# A variable that disables RDMA, a line that is JSON, a banner, and the terminal's title without a newline.
BASHRC = r"""
export NCCL_IB_DISABLE=1
echo 42
echo 'Welcome to gpu01'
printf '\033]0;gpu01\007'
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes behind an ssh whose login talks, to its sftp server too."""
    base = Path(tempfile.mkdtemp(prefix="muster-"))
    try:
        with sshd.running(base, str(SFTP_SERVER)) as server:
            (server.home / ".bashrc").write_text(BASHRC)
            made = Cluster(tmp_path, policy=server.policy(), per_node=server.per_node())
            yield made
            made.destroy()
    finally:
        shutil.rmtree(base)


def test_a_login_that_talks(cluster: Cluster) -> None:
    done = cluster.launch(follow=True, script="untidy.py")
    assert done.rc == 0, done.out
    assert "could not be read as a file" not in done.out
    assert cluster.record()["verdict"] == "succeeded"
    assert_untidy(cluster, done.out)
    plan = json.loads((cluster.experiments / RUN_ID / "plan.json").read_text())
    for job in plan["jobs"].values():
        disable = next(item for item in job["environment"] if item["name"] == "NCCL_IB_DISABLE")
        assert (disable["value"], disable["origin"], disable["layer"]) == ("1", "fabric", "fabric")
        assert disable["reason"].endswith("instead of 1 from login")

    refused = cluster.launch(mode="rdma")
    assert refused.rc != 0
    assert "NCCL_IB_DISABLE=1 (login) contradicts mode=rdma" in " ".join(refused.messages), refused.out


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("su") is None, reason="only root becomes a user by su, unasked")
def test_awkward_files_under_become(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, ["node0"], policy={"ansible_become": True, "ansible_become_method": "su"})
    try:
        done = cluster.launch(follow=True, script="untidy.py")
        assert done.rc == 0, done.out
        assert_untidy(cluster, done.out)
    finally:
        cluster.destroy()


def assert_untidy(cluster: Cluster, out: str) -> None:
    collected = assert_collected(cluster, out)
    printed = " ".join(out.split())
    for rank, node in enumerate(cluster.names):
        folder = f"outputs/node_{rank}/" if rank else "outputs/"
        assert {folder + name for name in ("n" * 250, "it's a [file]*", "large")} <= collected
        assert f"ranks/rank_{rank}_x.log" in collected
        for name in (r"caf\xe9", r"line\n!true"):
            assert (
                f"{node}: outputs/{name} stays on the node: its name is not UTF-8, or has control characters" in printed
            )


def assert_collected(cluster: Cluster, out: str) -> set[str]:
    """Check that each collected file is what lies on its node; return their paths in the experiment."""
    assert "could not be copied" not in out, out
    home = cluster.experiments / RUN_ID
    collected = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    assert [path for path in collected if path.endswith(".new")] == []
    compared = set()
    for rank, node in enumerate(cluster.names):
        base = cluster.run_dir(node)
        for path in base.rglob("*"):
            below = target(os.fsencode(path.relative_to(base)).decode("utf-8", "replace"), rank, range(rank, rank + 1))
            if below in collected and path.is_file():
                assert (home / below).read_bytes() == path.read_bytes(), path
                compared.add(below)
    assert {
        f"nodes/{rank}/{name}" for rank in range(len(cluster.names)) for name in ("job.json", "state.json")
    } <= compared
    return compared
