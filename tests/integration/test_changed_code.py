# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that is not the same on all nodes is found and named; what a program writes beside it does not count."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.checkouts import git, make_checkout
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import Played


@pytest.fixture
def writer(cluster: Cluster) -> Cluster:
    """The same cluster with code of its own for each node, whose program writes beside it."""
    cluster.per_node = {name: {"launch_code_dir": str(cluster.home / "code" / name)} for name in cluster.names}
    cluster.policy["launch_defaults"] = {"script": "folder_writer.py", "launcher": "python", "nproc": 1}
    cluster.write()
    (cluster.home / "code").mkdir()
    return cluster


def code_of(cluster: Cluster, node: str) -> Path:
    return cluster.home / "code" / node


def write_code(folder: Path) -> Path:
    """Write the program and the module that it imports."""
    folder.mkdir(exist_ok=True)
    shutil.copy(WORKLOADS / "folder_writer.py", folder)
    (folder / "helper.py").write_text("RATE = 1\n")
    return folder


def train(cluster: Cluster, run_id: str) -> Played:
    return cluster.launch(run_id=run_id, follow=True)


def assert_refused(played: Played, *expected: str) -> None:
    assert played.rc != 0, played.out
    printed = " ".join(played.out.split())
    for text in expected:
        assert text in printed, played.out


def test_an_edited_copy_is_named_and_a_new_copy_is_the_remedy(writer: Cluster) -> None:
    origin = write_code(make_checkout(writer.home / "origin"))
    (origin / "train.py").unlink()
    writer.policy.update(code_source="rsync", code_rsync_path=str(origin), code_rsync_excludes=["/private.py"])
    writer.write()
    copied = writer.play("playbooks/setup.yml", "--tags", "code")
    assert copied.rc == 0, copied.out
    first = train(writer, f"{RUN_ID}_1")
    assert first.rc == 0, first.out

    (code_of(writer, "node1") / "helper.py").write_text("RATE = 2\n")
    (code_of(writer, "node1") / "more.py").touch()
    (code_of(writer, "node1") / "private.py").touch()
    inventory = writer.inventory
    assert_refused(
        train(writer, f"{RUN_ID}_2"),
        "node1: code: changed files: helper.py; additional files: more.py; expected",
        "the same files on every node, as on node0",
        f"copy the code to all nodes: ansible-playbook -i {inventory} muster.train.setup --tags code;",
    )
    delete = ("playbooks/setup.yml", "--tags", "code", "-e", "code_rsync_delete=true")
    copied = writer.play(*delete)
    assert copied.rc == 0, copied.out
    again = train(writer, f"{RUN_ID}_3")
    assert again.rc == 0, again.out


def test_what_a_program_writes_into_a_checkout_does_not_count(writer: Cluster) -> None:
    origin = write_code(make_checkout(writer.home / "origin"))
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "writer")
    for node in writer.names:
        git(writer.home, "clone", "--quiet", str(origin), str(code_of(writer, node)))
    first = train(writer, f"{RUN_ID}_1")
    assert first.rc == 0, first.out
    written = [path.parent.name for path in writer.home.glob("code/*/lightning_logs/*/hparams.yaml")]
    assert sorted(written) == ["version_0", "version_1"]

    for logs in writer.home.glob("code/*/lightning_logs/version_1"):
        logs.rename(logs.with_name("version_2"))
    for logs in writer.home.glob("code/*/lightning_logs/version_0"):
        logs.rename(logs.with_name("version_3"))
    second = train(writer, f"{RUN_ID}_2")
    assert second.rc == 0, second.out

    (code_of(writer, "node1") / "extra.py").touch()
    assert_refused(train(writer, f"{RUN_ID}_3"), " in extra.py", "no changes as on node0")


@pytest.mark.parametrize("program", [{"script": "folder_writer.py"}, {"module": "folder_writer"}])
def test_ranks_can_start_in_a_directory_of_the_run(writer: Cluster, program: dict[str, str]) -> None:
    for node in writer.names:
        write_code(code_of(writer, node))
    played = writer.launch(follow=True, launch_cwd="run", **program)
    assert played.rc == 0, played.out
    for rank, node in enumerate(writer.names):
        assert [path.name for path in code_of(writer, node).iterdir() if path.name == "lightning_logs"] == []
        outputs = writer.run_dir(node) / "outputs"
        assert (outputs / "lightning_logs" / f"version_{rank}" / "hparams.yaml").read_text() == "lr: 1\n"
        log = (writer.experiments / RUN_ID / "ranks" / f"rank_{rank:02d}.log").read_text()
        assert f"rate 1 in {outputs}" in log
    collected = writer.experiments / RUN_ID / "outputs"
    assert (collected / "lightning_logs" / "version_0" / "hparams.yaml").is_file()
    assert (collected / "node_1" / "lightning_logs" / "version_1" / "hparams.yaml").is_file()
