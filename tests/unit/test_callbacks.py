# SPDX-License-Identifier: GPL-3.0-or-later
"""The callbacks to copy, as far as they can be read without the libraries; `make workloads` trains with them."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.sources import check_all

CALLBACKS = sources.files("examples/callbacks/*.py")
LONGEST = 10


def test_a_callback_is_short_and_needs_its_library_only() -> None:
    def breaches(path: str) -> Iterator[str]:
        module = sources.tree(path)
        (callback,) = [node for node in module.body if isinstance(node, ast.ClassDef)]
        (method,) = [node for node in callback.body if isinstance(node, ast.FunctionDef)]
        if (method.end_lineno or 0) - method.lineno >= LONGEST:
            yield f"{method.name} is longer than {LONGEST} lines"
        imported = {node.module for node in module.body if isinstance(node, ast.ImportFrom) and node.module}
        imported |= {name.name for node in module.body if isinstance(node, ast.Import) for name in node.names}
        libraries = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
        if libraries != {Path(path).name.partition("_")[0]}:
            yield f"needs {sorted(libraries)}"

    check_all(CALLBACKS, breaches)


def test_a_callback_writes_what_the_runner_reads() -> None:
    names = {"step", "total_steps", "loss"}
    assert names <= {field.name for field in dataclasses.fields(Progress)}

    def breaches(path: str) -> Iterator[str]:
        keys = [key for node in sources.nodes(path) if isinstance(node, ast.Dict) for key in node.keys]
        written = {key.value for key in keys if isinstance(key, ast.Constant)}
        if written != names:
            yield f"writes {sorted(map(str, written))}"
        if not re.search(r'f"rank_\{\w+\.\w+:02d\}_metrics\.jsonl"', sources.text(path)):
            yield "writes no file of metrics of its rank"

    check_all(CALLBACKS, breaches)


def test_the_page_names_every_callback() -> None:
    assert re.findall(r"^\| \[(\S+)\]\(\1\)", sources.text("examples/callbacks/README.md"), re.MULTILINE) == [
        Path(path).name for path in reversed(CALLBACKS)
    ]
