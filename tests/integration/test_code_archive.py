# SPDX-License-Identifier: GPL-3.0-or-later
"""Code over a connection that rsync does not reach: one that is as Ansible's `local`, under another name."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.action.code_copy import SMALL
from ansible_collections.muster.train.tests.support.code_plays import PLAY, play
from ansible_collections.muster.train.tests.support.play import Played
from ansible_collections.muster.train.tests.support.unprivileged import needs_root

CONNECTION = '''
DOCUMENTATION = """
name: exec
short_description: As by kubectl exec
description: As Ansible's local.
extends_documentation_fragment: [connection_pipelining]
options: {}
"""
from ansible.plugins.connection.local import Connection as LocalConnection
class Connection(LocalConnection):
    transport = "exec"
'''
NODES = ("-i", "node0,node1,")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Code on a machine that has no rsync."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir", "chmod", "rm", "sleep"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{programs}")
    assert shutil.which("rsync") is None
    (tmp_path / "connection_plugins").mkdir()
    (tmp_path / "connection_plugins" / "exec.py").write_text(CONNECTION)
    folder = tmp_path / "source"
    (folder / "package").mkdir(parents=True)
    (folder / "train.py").write_text("print()\n")
    (folder / "package" / os.fsdecode(b"caf\xe9 one.py")).write_text("ONE = 1\n")
    return folder


def copy(folder: Path, *options: str, **values: Any) -> Played:
    """Run the role on two nodes, whose directories are named after them, as setup does."""
    given = {
        "ansible_connection": "exec",
        "code_source": "rsync",
        "code_dir": f"{folder}/{{{{ inventory_hostname }}}}",
        "code_rsync_path": str(folder / "source"),
        **values,
    }
    roles: list[dict[str, str]] = [{"tasks_from": "controller"}, {}]
    tasks = [{"ansible.builtin.include_role": {"name": "muster.train.code", **part}} for part in roles]
    return play(folder, [{**PLAY[0], "hosts": "all", "tasks": tasks}], given, *NODES, *options)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_archive_brings_what_differs(source: Path, tmp_path: Path) -> None:
    (source / "weights.bin").write_bytes(os.urandom(2 * SMALL))
    predicted = copy(tmp_path, "--check", "--diff")
    assert predicted.rc == 0, predicted.out
    assert "(archive)\nadded    package\n" in predicted.out
    assert not (tmp_path / "node0").exists()
    first = copy(tmp_path)
    assert first.rc == 0, first.out
    assert first.changed == predicted.changed
    (source / "weights.bin").unlink()
    (source / "train.py").write_text("print(1)\n")
    second = copy(tmp_path, "--diff", code_rsync_delete=True)
    assert second.rc == 0, second.out
    assert "(archive)\nchanged  train.py\nremoved  weights.bin\n" in second.out
    again = copy(tmp_path, code_rsync_delete=True)
    assert (again.rc, again.changed) == (0, {"node0": 0, "node1": 0}), again.out
    for node in ("node0", "node1"):
        assert files(tmp_path / node).pop(".muster-code.json")
        assert {**files(tmp_path / node), ".muster-code.json": b""} == {**files(source), ".muster-code.json": b""}


def test_nodes_that_share_a_volume_are_brought_the_code_once(source: Path, tmp_path: Path) -> None:
    played = copy(tmp_path, code_dir=str(tmp_path / "shared"))
    assert played.rc == 0, played.out
    # node1 creates no directory either, if node0 was faster.
    assert played.changed["node0"] >= 2
    assert played.changed["node1"] <= 1
    assert set(files(source)) < set(files(tmp_path / "shared"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"code_dir": "{folder}/source/train.py/code"},
            "train.py/code cannot be written by the user that tasks run as",
        ),
        ({"code_rsync_excludes": ["a\\*b"]}, "only rsync, which does not reach this node, knows a\\*b"),
        ({"ansible_python_interpreter": "/no/python3"}, "'/no/python3' was not found"),
    ],
)
def test_what_keeps_the_code_from_a_node_is_said(
    values: dict[str, Any], message: str, source: Path, tmp_path: Path
) -> None:
    given = {name: value.format(folder=tmp_path) if isinstance(value, str) else value for name, value in values.items()}
    played = copy(tmp_path, **given)
    assert played.rc == 2, played.out
    assert message in played.words
    assert not (tmp_path / "node0" / "train.py").exists()


@needs_root
def test_only_the_head_must_be_able_to_write_a_shared_directory(source: Path, tmp_path: Path) -> None:
    """The others may have mounted it so that they can only read."""
    shared, python = tmp_path / "shared", tmp_path / "python3"
    shared.mkdir()
    mount = f"/bin/mount --bind {shared} {shared} && /bin/mount -o remount,bind,ro {shared}"
    python.write_text(
        f'#!/bin/sh\nexec /usr/bin/unshare -m /bin/sh -c \'{mount} && exec {sys.executable} "$@"\' sh "$@"\n'
    )
    python.chmod(0o755)
    choice = f"{{{{ '{sys.executable}' if inventory_hostname == 'node0' else '{python}' }}}}"
    for options in (["--check"], []):
        played = copy(tmp_path, *options, code_dir=str(shared), ansible_python_interpreter=choice)
        assert played.rc == 0, played.out
    assert played.changed["node1"] == 0
    assert set(files(source)) < set(files(shared))


def test_a_node_gets_no_file_that_is_not_part_of_the_code(source: Path, tmp_path: Path) -> None:
    """What a node answers decides which files it gets, and a node may be in other hands."""
    liar = tmp_path / "python3"
    answer = {"changed": True, "difference": json.dumps([["../absent.key", "train.py"], [], []])}
    liar.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    liar.chmod(0o755)
    task = {"muster.train.code_copy": {"src": str(source), "dest": str(tmp_path / "copy")}}
    given = {"ansible_connection": "exec", "ansible_python_interpreter": str(liar)}
    played = play(tmp_path, [{**PLAY[0], "hosts": "all", "tasks": [task]}], given, *NODES)
    # It would be an error that the file is absent.
    assert played.rc == 0, played.out


def test_home_is_that_of_the_node(source: Path, tmp_path: Path) -> None:
    arguments = {"src": str(source), "dest": "~/copy"}
    task = {"muster.train.code_copy": arguments, "environment": {"HOME": str(tmp_path / "home")}}
    plays = [{**PLAY[0], "hosts": "node0", "tasks": [task]}]
    played = play(tmp_path, plays, {"ansible_connection": "exec"}, *NODES)
    assert played.rc == 0, played.out
    assert files(tmp_path / "home" / "copy") == files(source)
