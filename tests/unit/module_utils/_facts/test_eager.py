# SPDX-License-Identifier: GPL-3.0-or-later
"""On Python 3.9 no probe imports from the payload's zip while others do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
SIDE = ROOT / "plugins" / "module_utils"
PACKAGE = "ansible_collections.muster.train.plugins.module_utils"
# Where probes run, and what they never call.
ROOMS = ("_container", "_facts", "_gpu", "_host", "_net", "_rdma", "_software", "_system")


def deferred_imports() -> set[str]:
    """Return the modules of this side that a function of a reader imports when it is called."""
    modules = set()
    for path in (path for room in ROOMS for path in (SIDE / room).rglob("*.py")):
        parents = path.relative_to(SIDE).parent.parts
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if not isinstance(node, ast.ImportFrom) or not node.level:
                    continue
                base = [*parents[: len(parents) - node.level + 1], *filter(None, (node.module or "").split("."))]
                for alias in node.names:
                    deeper = SIDE.joinpath(*base, f"{alias.name}.py")
                    modules.add(".".join([PACKAGE, *base, *([alias.name] if deeper.exists() else [])]))
    # Imported by `gather` itself, before there is a thread.
    return modules - {f"{PACKAGE}._facts.health", f"{PACKAGE}._facts.eager"}


def test_what_probes_import_is_imported_before_they_start() -> None:
    script = f"import sys\nfrom {PACKAGE}._facts import eager\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(
        command, cwd=ROOT / "collections", check=True, capture_output=True, text=True
    ).stdout.split()
    assert deferred_imports()
    assert deferred_imports() - set(loaded) == set()
