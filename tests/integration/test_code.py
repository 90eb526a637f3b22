# SPDX-License-Identifier: GPL-3.0-or-later
"""Code on the nodes: how it is brought there, and a launch of code that is not the same on all of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.tests.support.checkouts import git, make_checkout
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.code_plays import PLAY, play
from ansible_collections.muster.train.tests.support.play import ROOT, Played

needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")


def check_out(folder: Path, repo: str) -> Played:
    """Check out a repository in check mode."""
    values = {
        "code_source": "git",
        "code_dir": str(folder / "code"),
        "code_git_repo": repo,
        "code_git_ref": "bad..ref",
    }
    return play(folder, PLAY, values, "-vv", "--check", "-i", "localhost,")


def test_setup_changes_nothing_without_rsync_on_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The role after this check would raise the limits of the nodes first."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    values = {"code_source": "rsync", "code_rsync_path": str(tmp_path), "code_dir": str(tmp_path / "code")}
    plays = yaml.safe_load((ROOT / "playbooks" / "setup.yml").read_text())
    setup = [{**part, "hosts": "localhost"} for part in plays if part["name"] == "Set up the nodes"]
    played = play(tmp_path, setup, values, "-i", "localhost,")
    assert played.rc == 2
    assert "rsync is not in the PATH of the controller" in played.words
    assert "Gather the current limits" not in played.out
    assert not (tmp_path / "code").exists()


@pytest.mark.parametrize("user", [":s3cr3t", "ann:s3cr3t@x"])
def test_a_password_in_the_url_is_refused_and_never_shown(user: str, tmp_path: Path) -> None:
    played = check_out(tmp_path, f"https://{user}@git.example.com/model.git")
    assert played.rc == 2
    assert "contains a password or a token" in played.out
    assert "credential helper" in played.out
    assert "s3cr3t" not in played.out


@pytest.mark.parametrize("repo", ["ssh://git@example.com:22/model.git", "git@example.com:a@b.git"])
def test_a_user_in_the_url_is_not_a_password(repo: str, tmp_path: Path) -> None:
    played = check_out(tmp_path, repo)
    # What is refused is the ref.
    assert played.rc == 2
    assert 'git check-ref-format refuses code_git_ref "bad..ref"' in played.words


@needs_rsync
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
    played = play(tmp_path, [{**PLAY[0], "hosts": "all", "serial": 1}], values, "-i", "node0,node1,")
    assert played.rc == 0, played.out
    assert [(tmp_path / node / "train.py").is_file() for node in ("node0", "node1")] == [True, True], played.out


@needs_rsync
@pytest.mark.gate
def test_a_launch_brings_what_was_edited(cluster: Cluster) -> None:
    source = cluster.home / "source"
    (source / "package").mkdir(parents=True)
    (source / "train.py").write_text("from package.words import WORDS\nprint(WORDS)\n")
    words = source / "package" / "words.py"
    cluster.policy.update(
        code_source="rsync",
        code_rsync_path=str(source),
        launch_code_dir=str(cluster.home / "code") + "/{{ inventory_hostname }}",
        launch_defaults={"script": "train.py", "launcher": "python", "nproc": 1},
    )
    cluster.write()

    changes = []
    for number, text in enumerate(("first words", "other words", "other words")):
        if number != 2:
            words.write_text(f"WORDS = {text!r}\n")
        launched = cluster.launch(run_id=f"{RUN_ID}{number}", follow=True, sync=True)
        assert launched.rc == 0, launched.out
        for node in cluster.names:
            assert (cluster.home / "code" / node / "package" / "words.py").read_text() == words.read_text()
        logs = (cluster.experiments / f"{RUN_ID}{number}" / "ranks").glob("rank_*.log")
        assert [text in log.read_text() for log in logs] == [True, True]
        changes.append(launched.changed["node1"])
    # What has not changed is not copied again.
    assert changes[0] >= changes[1] > changes[2]


@needs_rsync
def test_code_without_a_source_is_refused(cluster: Cluster) -> None:
    launched = cluster.launch(sync=True)
    assert launched.rc == 2
    assert "code_source is none" in " ".join(launched.messages)
    assert list(cluster.experiments.iterdir()) == []


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
    for text in expected:
        assert text in played.words, played.out


@needs_rsync
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
    assert_refused(
        train(writer, f"{RUN_ID}_2"),
        "node1: code: changed files: helper.py; additional files: more.py; expected",
        "the same files on every node, as on node0",
        f"copy the code to all nodes: ansible-playbook -i {writer.inventory} muster.train.setup --tags code;",
    )
    copied = writer.play("playbooks/setup.yml", "--tags", "code", "-e", "code_rsync_delete=true")
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


@needs_rsync
def test_a_pattern_with_a_blank_is_one_pattern(tmp_path: Path) -> None:
    for name in ("my data", "my", "code"):
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "file").touch()
    values = {
        "code_source": "rsync",
        "code_rsync_path": str(tmp_path / "source"),
        "code_dir": str(tmp_path / "copy"),
        "code_rsync_excludes": ["my data/"],
    }
    played = play(tmp_path, PLAY, values, "-i", "localhost,")
    assert played.rc == 0, played.out
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {"my", "code", ".muster-code.json"}
