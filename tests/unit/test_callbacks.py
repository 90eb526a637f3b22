# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callbacks to copy, as far as they can be read without the libraries; `make workloads` trains with them."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "callbacks"
CALLBACKS = sorted(FOLDER.glob("*.py"))
LONGEST = 10

each_callback = pytest.mark.parametrize("path", CALLBACKS, ids=lambda path: str(path.name))


@each_callback
def test_a_callback_is_short_and_needs_its_library_only(path: Path) -> None:
    module = ast.parse(path.read_text())
    (callback,) = [node for node in module.body if isinstance(node, ast.ClassDef)]
    (method,) = [node for node in callback.body if isinstance(node, ast.FunctionDef)]
    assert (method.end_lineno or 0) - method.lineno < LONGEST
    imported = {node.module for node in module.body if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {name.name for node in module.body if isinstance(node, ast.Import) for name in node.names}
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {path.name.partition("_")[0]}


@each_callback
def test_a_callback_writes_what_the_runner_reads(path: Path) -> None:
    text = path.read_text()
    keys = [key for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Dict) for key in node.keys]
    names = {key.value for key in keys if isinstance(key, ast.Constant)}
    assert {"step", "total_steps", "loss"} == names
    assert names <= {field.name for field in dataclasses.fields(Progress)}
    assert re.search(r'f"rank_\{\w+\.\w+:02d\}_metrics\.jsonl"', text)


def test_the_page_names_every_callback() -> None:
    assert re.findall(r"^\| \[(\S+)\]\(\1\)", (FOLDER / "README.md").read_text(), re.MULTILINE) == [
        path.name for path in reversed(CALLBACKS)
    ]
