# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role code, where it needs no hosts: what it refuses before git is started, and copies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.real_hosts import environment

PLAY = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_role": {"name": "muster.train.code"}}],
    }
]


def check_out(folder: Path, repo: str) -> tuple[int, str]:
    """Check out a repository in check mode; return the exit code and what was printed."""
    values = {
        "code_source": "git",
        "code_dir": str(folder / "code"),
        "code_git_repo": repo,
        "code_git_ref": "bad..ref",
    }
    return play(folder, PLAY, values, "-vv", "--check", "-i", "localhost,")


def play(folder: Path, plays: list[dict[str, Any]], values: dict[str, str], *options: str) -> tuple[int, str]:
    """Run plays on this machine; return the exit code and what was printed."""
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps(plays))
    (folder / "values.json").write_text(json.dumps({"ansible_python_interpreter": sys.executable, **values}))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "playbook", *options, "-c", "local"),
            *("-e", f"@{folder / 'values.json'}", str(playbook)),
        ],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_setup_changes_nothing_without_rsync_on_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The role after this check would raise the limits of the nodes first."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    values = {"code_source": "rsync", "code_rsync_path": str(tmp_path), "code_dir": str(tmp_path / "code")}
    setup = yaml.safe_load((ROOT / "playbooks" / "setup.yml").read_text())[1:2]
    setup[0]["hosts"] = "localhost"
    code, printed = play(tmp_path, setup, values, "-i", "localhost,")
    assert code == 2
    assert "rsync is not in the PATH of the controller" in " ".join(printed.split())
    assert "Gather the current limits" not in printed
    assert not (tmp_path / "code").exists()


@pytest.mark.parametrize("user", [":s3cr3t", "ann:s3cr3t@x"])
def test_a_password_in_the_url_is_refused_and_never_shown(user: str, tmp_path: Path) -> None:
    code, printed = check_out(tmp_path, f"https://{user}@git.example.com/model.git")
    assert code == 2
    assert "contains a password or a token" in printed
    assert "credential helper" in printed
    assert "s3cr3t" not in printed


@pytest.mark.parametrize("repo", ["ssh://git@example.com:22/model.git", "git@example.com:a@b.git"])
def test_a_user_in_the_url_is_not_a_password(repo: str, tmp_path: Path) -> None:
    code, printed = check_out(tmp_path, repo)
    # What is refused is the ref.
    assert code == 2
    assert 'git check-ref-format refuses code_git_ref "bad..ref"' in " ".join(printed.split())


def test_a_play_of_batches_copies_to_every_node(tmp_path: Path) -> None:
    """A node that finds another node's nonce has its copy; the node that wrote the nonce has to copy."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print()\n")
    values = {
        "code_source": "rsync",
        "code_dir": f"{tmp_path}/{{{{ inventory_hostname }}}}",
        "code_rsync_path": str(code),
    }
    rc, printed = play(tmp_path, [{**PLAY[0], "hosts": "all", "serial": 1}], values, "-i", "node0,node1,")
    assert rc == 0, printed
    assert [(tmp_path / node / "train.py").is_file() for node in ("node0", "node1")] == [True, True], printed
