# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch asks for by name: files, the configuration, the interpreter."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.node import Config, File, TrainingPython
from ansible_collections.muster.train.plugins.module_utils._software.files import (
    CONFIG_LIMIT,
    find_python,
    locate,
    read_config,
    read_file,
)
from ansible_collections.muster.train.tests.support.machines import load


def refuse(warning: str) -> None:
    raise AssertionError(warning)


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("train.py", "/code/train.py"),
        ("./a//b.py", "/code/a/b.py"),
        ("../b.py", "/code/../b.py"),  # the parent of a link is not what it looks like
        ("/abs/x.py", "/abs/x.py"),
        ("~/x.py", "/home/me/x.py"),
        ("$JOBS/x.py", "/jobs/x.py"),
        ("a;b $(c).py", "/code/a;b $(c).py"),
    ],
)
def test_where_a_file_is(monkeypatch: pytest.MonkeyPatch, asked: str, path: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("JOBS", "/jobs")
    assert locate(Host(), "/code", asked) == path


def test_a_file(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"print('hello')\n").hexdigest()
    laptop = load("laptop", tmp_path)
    assert read_file(laptop, "/home/me/code/train.py") == File("/home/me/code/train.py", True, True, digest)
    assert read_file(laptop, "/home/me/code/no.py") == File("/home/me/code/no.py", False, False, None, ["train.py"])
    assert read_file(laptop, "/home/me/code/no") == File("/home/me/code/no", False, False, None)
    assert read_file(laptop, "/home/me/code") == File("/home/me/code", True, False, None)


def test_a_file_too_large_to_hash_at_every_launch(tmp_path: Path) -> None:
    with open(tmp_path / "data", "wb") as stream:
        stream.truncate(65 * 1024 * 1024)
    assert read_file(Host(), f"{tmp_path}/data") == File(f"{tmp_path}/data", True, True, None)


NO_CONFIGS = {"it is too large": b"#" * (CONFIG_LIMIT + 1), "it is not UTF-8": b"name: M\xfcller\n"}


def test_config(tmp_path: Path) -> None:
    path = "/home/me/code/configs/tiny.yaml"
    assert read_config(load("laptop", tmp_path), path, refuse) == Config(path, "steps: 10\n")


def test_no_config(tmp_path: Path) -> None:
    assert read_config(Host(), f"{tmp_path}/no.yaml", refuse) == Config(f"{tmp_path}/no.yaml", None)
    assert read_config(Host(), str(tmp_path), refuse) == Config(str(tmp_path), None)


def test_a_config_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    path, warnings = tmp_path / "c.yaml", list[str]()
    path.write_bytes(b"#" * CONFIG_LIMIT)
    assert read_config(Host(), str(path), refuse).text == "#" * CONFIG_LIMIT
    for content in NO_CONFIGS.values():
        path.write_bytes(content)
        assert read_config(Host(), str(path), warnings.append).text is None
    assert len(warnings) == 2


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for folder in ("bin", "code/venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "python3").touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python3", "{}/bin/python3"),
        ("python9", None),
        ("venv/bin/python3", "{}/code/venv/bin/python3"),
        ("./venv/bin/python3", "{}/code/venv/bin/python3"),
        ("bin/python3", None),
        ("~/bin/python3", "{}/bin/python3"),
        ("/no/python3", None),
        ("", None),
    ],
)
def test_the_interpreter(bin_dir: str, command: str, path: str | None) -> None:
    result = find_python(Host(), f"{bin_dir}/code", command)
    assert result == TrainingPython(command, path and path.format(bin_dir))


def test_an_interpreter_that_may_not_be_executed(bin_dir: str) -> None:
    os.chmod(f"{bin_dir}/bin/python3", 0o644)
    assert find_python(Host(), "/", "python3") == TrainingPython("python3", None)
