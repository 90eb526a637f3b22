# SPDX-License-Identifier: GPL-3.0-or-later
"""How code is copied over a connection, and what rsync says of it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.file_tree import TreeDifference
from ansible_collections.muster.train.plugins.plugin_utils._setup.copied_code import (
    ARCHIVE,
    REACHED,
    RSYNC,
    SHOWN,
    choose_way,
    parse_rsync,
    show_difference,
)
from ansible_collections.muster.train.tests.support.sources import ROOT


@pytest.mark.parametrize(
    ("transport", "way"),
    [("ssh", RSYNC), ("local", RSYNC), ("muster.train.srun", ARCHIVE), ("kubectl", ARCHIVE), ("oc", ARCHIVE)],
)
def test_rsync_copies_where_it_reaches(transport: str, way: str) -> None:
    assert choose_way(transport) == way


def test_the_role_expects_rsync_where_it_copies() -> None:
    names = yaml.safe_load((ROOT / "roles/code/vars/main.yml").read_text())["code__by_rsync"]
    # What inventories say; the connections call themselves otherwise.
    transports = {"smart": "ssh", "paramiko_ssh": "paramiko"}
    assert {transports.get(name, name) for name in names} == {*REACHED}


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_what_rsync_prints_is_read(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        (folder / "both").mkdir(parents=True)
        (folder / "same.py").touch()
        os.utime(folder / "same.py", (1_700_000_000, 1_700_000_000))
    (source / "edited.py").write_text("longer")
    (target / "edited.py").write_text("short")
    target.chmod(0o700)
    (source / "new one").mkdir()
    (source / "new one" / "a.py").touch()
    (source / "link").symlink_to("same.py")
    (source / "both").chmod(0o700)
    (target / "old").mkdir()
    (target / "old" / "gone.py").touch()
    # As ansible.posix.synchronize calls it.
    command = ["rsync", "--delete-after", "-a", "--omit-dir-times", "--out-format=%i %n%L", f"{source}/", f"{target}/"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert parse_rsync(["sending", *done.stdout.splitlines()]) == TreeDifference(
        added=["link -> same.py", "new one/", "new one/a.py"],
        changed=["edited.py", "both/"],
        removed=["old/gone.py", "old/"],
    )


def test_any_text_of_rsync_is_read() -> None:
    signs = "*deleting <>ch.+fdL \t\udce9"
    generator = random.Random(1)
    lines = ["".join(generator.choices(signs, k=generator.randrange(30))) for _line in range(2000)]
    difference = parse_rsync(lines)
    assert all(isinstance(path, str) and path for paths in difference for path in paths)


def test_a_screen_has_the_first_files_of_each_kind() -> None:
    many = [f"m{number}.py" for number in range(SHOWN + 3)]
    text = show_difference(TreeDifference(many, ["a\x1b[1mb"], []), "/mine", "/code", ARCHIVE)
    lines = text.splitlines()
    assert lines[:2] == ["/mine -> /code (archive)", "added    m0.py"]
    assert lines[-2:] == ["added    and 3 more", "changed  ab"]
