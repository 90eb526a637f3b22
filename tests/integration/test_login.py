# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login that talks: whatever its `.bashrc` prints is no part of what is read and copied from a node."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

SFTP_SERVER = Path("/usr/lib/openssh/sftp-server")
SHELL = Path(pwd.getpwuid(os.geteuid()).pw_shell).name
pytestmark = [
    pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing())),
    pytest.mark.skipif(not SFTP_SERVER.exists(), reason=f"{SFTP_SERVER} not found: apt install openssh-sftp-server"),
    pytest.mark.skipif(SHELL != "bash", reason=f"only bash reads .bashrc for a command over ssh; the shell is {SHELL}"),
]
# A line that is JSON, a banner, and the terminal's title without a newline.
BASHRC = r"""
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
    done = cluster.launch(follow=True, script_args="--seconds 3")
    assert done.rc == 0, done.out
    assert "could not be read as a file" not in done.out
    assert "step 30/30" in done.out
    assert cluster.record()["verdict"] == "succeeded"
    assert (cluster.experiments / RUN_ID).is_dir()
