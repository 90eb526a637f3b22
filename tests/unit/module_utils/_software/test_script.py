# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a script from starting, as a real interpreter reads it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._records.node import Script
from ansible_collections.muster.train.plugins.module_utils._software.script import read_script


def read(tmp_path: Path, text: str, name: str = "train.py", python_path: str | None = None) -> Script | None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_script(LiveHost(), sys.executable, str(path), str(tmp_path), python_path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import os\n\ndef f(:\n", 3),
        ("x = 1\n  y = 2\n", 2),
        ("return 1\n", 1),  # which only the compiler finds
        ("# coding: no-such-coding\n", None),
        ("print 'x'\n", 1),
    ],
)
def test_a_fault_of_syntax(tmp_path: Path, text: str, line: int | None) -> None:
    script = read(tmp_path, text)
    assert script is not None
    assert script.fault
    assert (script.line or None, script.missing, script.why) == (line, [], None)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("import not_here\n", ["not_here"]),
        ("import os, not_here.part as x\nfrom not_there.part import y\n", ["not_here", "not_there"]),
        ('"""Train."""\nfrom __future__ import annotations\nimport not_here\n', ["not_here"]),
        ("import not_here\nimport not_here.part\n", ["not_here"]),
        # An installed package does not change where modules are found.
        ("import pytest\nimport not_here\n", ["not_here"]),
        # What follows is not certain: each of these can change where modules are found, or need not be run.
        ("import sys\nsys.path.append('/x')\nimport not_here\n", []),
        ("import beside\nimport not_here\n", []),
        ("import folder.part\nimport not_here\n", []),
        ("try:\n    import not_here\nexcept ImportError:\n    pass\n", []),
        ("import __main__\nimport not_here\n", []),
        ("from . import not_here\n", []),
        ("def main():\n    import not_here\n", []),
        ("raise SystemExit('it must not be run')\n", []),
        ("", []),
    ],
)
def test_missing_modules(tmp_path: Path, text: str, missing: list[str]) -> None:
    (tmp_path / "beside.py").touch()
    (tmp_path / "folder").mkdir()
    assert read(tmp_path, text) == Script(str(tmp_path / "train.py"), missing=missing)


def test_folders_of_the_ranks_environment(tmp_path: Path) -> None:
    for folder in ("absolute", "relative"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"in_{folder}.py").touch()
    python_path = f"{tmp_path}/absolute:relative:"
    for folder in ("absolute", "relative"):
        text = f"import in_{folder}\n"
        assert read(tmp_path, text, python_path=python_path) == Script(str(tmp_path / "train.py"))
        assert read(tmp_path, text) == Script(str(tmp_path / "train.py"), missing=[f"in_{folder}"])


def test_what_is_no_file_of_python(tmp_path: Path) -> None:
    assert read(tmp_path, "#!/bin/sh\n", "train.sh") is None
    assert read_script(LiveHost(), sys.executable, str(tmp_path / "none.py"), str(tmp_path), None) is None


@pytest.mark.parametrize("text", ["\0", "(" * 10000])
def test_what_the_interpreter_cannot_read_has_a_reason_or_a_fault(tmp_path: Path, text: str) -> None:
    script = read(tmp_path, text)
    assert script is not None
    assert script.fault or script.why


def test_an_interpreter_that_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    script = read_script(LiveHost(), "/bin/false", str(tmp_path / "train.py"), str(tmp_path), None)
    assert script == Script(str(tmp_path / "train.py"), why="exit code 1")
