# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that verbs print, typed as printed in a new shell in the same directory, do what they promise."""

from __future__ import annotations

import getpass
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT, Played, run_to_end

BIN = Path(sys.executable).parent
CLEAN = {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
HERE = f"ANSIBLE_COLLECTIONS_PATH={shlex.quote(str(ROOT / 'collections'))}"
SECRET = "correct horse battery"


class Shell:
    """A new shell for every command, in one directory that is not the checkout."""

    def __init__(self, cluster: Cluster) -> None:
        self.folder = cluster.home / "else where"
        self.folder.mkdir()
        self.environment = {**CLEAN, "HOME": str(cluster.home)}

    def type(self, command: str) -> Played:
        played = run_to_end(["bash", "-c", command], self.environment, self.folder, timeout=120)
        assert SECRET not in played.out
        return played


def printed(played: Played, verb: str) -> str:
    """Return the first command of a verb in what was printed, to the end of its line."""
    match = re.search(rf"((?:ANSIBLE_COLLECTIONS_PATH=\S+ )?ansible-playbook .*muster\.train\.{verb}\b.*)", played.out)
    assert match, played.out
    return match[1].rstrip()


@pytest.mark.gate
def test_policy_login_and_vault_are_carried_to_every_verb(cluster: Cluster) -> None:
    shell = Shell(cluster)
    del cluster.policy["launch_workdir"]
    cluster.write()
    (shell.folder / "password").write_text("opens\n")
    (shell.folder / "secret.yml").write_text(f"launch_secrets: {{TOKEN: {SECRET}}}\n")
    encrypt = shell.type("ansible-vault encrypt --vault-password-file=password secret.yml")
    assert encrypt.rc == 0, encrypt.out
    workdir = f"launch_workdir={cluster.home}/work/{{{{ inventory_hostname }}}}"
    carried = ["-i", str(cluster.inventory), "-u", getpass.getuser(), "--vault-password-file=password"]
    words = [*carried, "-e", workdir, "-e", "@secret.yml", "-e", f"run_id={RUN_ID}", "-e", "follow=false"]
    launched = shell.type(
        shlex.join(["ansible-playbook", *words, "-e", "script_args=--seconds=600", str(ROOT / "launch.yml")])
    )
    assert launched.rc == 0, launched.out

    status = shell.type(printed(launched, "status"))
    assert status.phases == {"node0": "running", "node1": "running"}, status.out
    logs = shell.type(printed(launched, "logs"))
    assert logs.rc == 0, logs.out
    second = shlex.join(["ansible-playbook", *words, str(ROOT / "launch.yml")]).replace(RUN_ID, f"{RUN_ID}2")
    busy = shell.type(second)
    assert busy.rc == 2, busy.out
    # The remedy of the slot that is held.
    stopped = shell.type(printed(busy, "stop").rstrip(";"))
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    followed = shell.type(printed(launched, "follow"))
    assert "stopped" in followed.out, followed.out
    for command in (printed(launched, "follow"), printed(launched, "stop"), printed(busy, "stop")):
        options = shlex.split(command)
        assert {"-u", f"--vault-password-file={shell.folder}/password", f"@{shell.folder}/secret.yml", workdir} <= set(
            options
        ), command


def test_the_remedies_of_preflight_carry_the_options(cluster: Cluster) -> None:
    shell = Shell(cluster)
    cluster.ignore_machine()
    cluster.policy["launch_code_dir"] = str(cluster.home / "code") + "/{{ inventory_hostname }}"
    for name in cluster.names:
        code = cluster.home / "code" / name
        code.mkdir(parents=True)
        (code / "sleeper.py").write_text("")
        run = ["git", "-C", str(code), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", name]):
            subprocess.run([*run, *words], check=True, stdin=subprocess.DEVNULL)
    cluster.write()
    words = ["ansible-playbook", "-i", str(cluster.inventory), "-u", getpass.getuser()]
    failed = shell.type(f"{HERE} {shlex.join(words)} muster.train.preflight")
    assert failed.rc == 1, failed.out
    # The report wraps its lines.
    remedy = " ".join(failed.out.split())
    match = re.search(r"ansible node\S+ .*? -a '(?:[^']*)'", remedy)
    assert match, failed.out
    corrected = shell.type(match[0])
    assert f"-u {getpass.getuser()}" in match[0]
    # The other checkout has no such commit, and git, which was reached, says so.
    assert "reference is not a tree" in corrected.out or "unable to read tree" in corrected.out, corrected.out
    setup = re.search(r"ANSIBLE_COLLECTIONS_PATH=\S+ ansible-playbook .*? muster\.train\.setup --tags code", remedy)
    assert setup, failed.out
    assert f"-u {getpass.getuser()}" in setup[0]
    assert shell.type(f"{setup[0]} --syntax-check").rc == 0


def test_a_password_is_asked_for_again(cluster: Cluster) -> None:
    """-K has no terminal here, so it reads an empty password, which a launch that needs no root never uses."""
    shell = Shell(cluster)
    words = ["ansible-playbook", "-bK", "--become-user", getpass.getuser(), "-i", str(cluster.inventory)]
    shown = shell.type(f"{HERE} {shlex.join(words)} muster.train.list")
    command = printed(shown, "launch")
    assert {"-b", "-K", f"--become-user={getpass.getuser()}"} <= set(shlex.split(command)), command


def test_the_installed_collection_needs_no_path(cluster: Cluster, tmp_path: Path) -> None:
    shell = Shell(cluster)
    galaxy = [str(BIN / "ansible-galaxy"), "collection"]
    environment = {**shell.environment, "ANSIBLE_LOCAL_TEMP": str(cluster.local_tmp)}
    copy = tmp_path / "copy"
    copy.mkdir()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not names:
        pytest.skip("not a git checkout")
    for name in filter(None, names.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    subprocess.run([*galaxy, "build", "--output-path", str(tmp_path)], cwd=copy, env=environment, check=True)
    (tarball,) = tmp_path.glob("muster-train-*.tar.gz")
    target = cluster.home / ".ansible" / "collections"
    subprocess.run(
        [*galaxy, "install", str(tarball), "-p", str(target), "--no-deps"],
        cwd=shell.folder,
        env=environment,
        check=True,
    )
    words = ["-i", str(cluster.inventory), "-e", f"run_id={RUN_ID}", "-e", "follow=false"]
    launched = shell.type(
        shlex.join(["ansible-playbook", *words, "-e", "script_args=--seconds=600", "muster.train.launch"])
    )
    assert launched.rc == 0, launched.out
    assert "ANSIBLE_COLLECTIONS_PATH" not in launched.out
    stopped = shell.type(printed(launched, "stop"))
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    collected = shell.type(f"{printed(launched, 'stop')}".replace("muster.train.stop", "muster.train.collect"))
    assert collected.rc == 0, collected.out
