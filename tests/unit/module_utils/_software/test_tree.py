# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of code without git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._software import tree as tree_module
from ansible_collections.muster.train.plugins.module_utils._software.digest import Digest
from ansible_collections.muster.train.plugins.module_utils._software.tree import read_tree
from ansible_collections.muster.train.tests.support.play import ROOT

EXCLUDES = yaml.safe_load((ROOT / "roles" / "code" / "vars" / "main.yml").read_text())["code__excludes"]


def write(folder: Path, *names: str, content: str = "1") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def read(folder: Path, *roots: str) -> Digest:
    return read_tree(Host(), str(folder), ["", *roots], EXCLUDES)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    write(tmp_path / "code", "train.py", "parts/a.py", "parts/deep/b.py", "recipes-2/c.py", "data/x.bin")
    return tmp_path / "code"


def test_it_is_of_names_and_content_of_what_can_be_imported(code: Path) -> None:
    first = read(code)
    assert list(first.files) == ["parts/a.py", "parts/deep/b.py", "train.py"]
    values = {first.value}
    for change in (
        lambda: write(code, "parts/a.py", content="2"),
        lambda: write(code, "parts/new.py"),
        lambda: (code / "parts" / "new.py").rename(code / "parts" / "other.py"),
        (code / "parts" / "other.py").unlink,
    ):
        before = read(code)
        change()
        assert read(code).value not in (None, before.value)
        values.add(read(code).value)
    assert len(values) == 4  # the last change restores the second state


def test_what_a_program_writes_does_not_count(code: Path) -> None:
    before = read(code)
    write(
        code,
        "lightning_logs/version_0/hparams.yaml",
        "wandb/run-20261124_010203/files/code/train.py",
        "outputs/2026-11-24/12-00-00/.hydra/config.yaml",
        "parts/__pycache__/a.cpython-311.pyc",
        "venv/bin/activate_this.py",
        "experiments/x/train.py",
        "checkpoints/model/modeling.py",
        "model.pt",
    )
    (code / "parts" / "gone.py").symlink_to("nowhere.py")
    (code / "parts" / "loop").symlink_to("..")
    assert {**read(code).files, "parts/gone.py": ""} == {**before.files, "parts/gone.py": ""}
    (code / "parts" / "gone.py").unlink()
    assert read(code) == before


def test_the_directory_of_the_script_counts_whatever_its_name(code: Path) -> None:
    assert "recipes-2/c.py" in read(code, "recipes-2").files
    assert read(code, "parts", "no/such").files == read(code).files


def test_a_copy_by_rsync_has_the_same_digest(code: Path, tmp_path: Path) -> None:
    write(code, "venv/a.py", "old.pyc")
    patterns = [f"--exclude={pattern}" for pattern in EXCLUDES]
    subprocess.run(["rsync", "-a", *patterns, f"{code}/", f"{tmp_path}/copy/"], check=True)
    assert not (tmp_path / "copy" / "venv").exists()
    assert read(tmp_path / "copy") == read(code)


def test_a_tree_that_is_too_large_is_not_compared(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = sum(len(names) + len(folders) for _path, folders, names in os.walk(code)) - 1  # recipes-2 is not entered
    monkeypatch.setattr(tree_module, "ENTRIES", entries)
    assert read(code).value
    write(code, "data/y.bin")
    assert read(code) == Digest(None, uncompared=f"there are more than {entries} files and directories")


def test_a_tree_that_takes_too_long_is_not_compared(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "TIME_S", 0.0)
    assert read(code) == Digest(None, uncompared="listing them took too long")


def test_a_file_that_cannot_be_read_is_named(code: Path) -> None:
    class Closed(Host):
        def sha256(self, path: str, size: int | None = None, below: str | None = None) -> str | None:
            return None

    assert read_tree(Closed(), str(code), [""], []) == Digest(None, uncompared="parts/a.py could not be read")
