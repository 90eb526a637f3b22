# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python that is too old is refused by name, on nodes by modules and by the runner, and on the controller."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.plugin_utils import _action
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp
from ansible_collections.muster.train.tests.support.pythons import find_python

ROOT = Path(__file__).resolve().parents[4]
PACKAGE = "ansible_collections.muster.train.plugins.module_utils"
MODULES = sorted(path.name for path in ROOT.glob("plugins/modules/*.py") if "AnsibleModule(" in path.read_text())


@pytest.fixture
def old_python() -> str:
    python = find_python("3.8")
    if not python:
        pytest.skip("there is no Python 3.8 here")
    return python


@pytest.mark.parametrize("name", MODULES)
def test_every_module_asks_before_it_imports_anything_else_of_the_collection(name: str) -> None:
    tree = ast.parse((ROOT / "plugins/modules" / name).read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE)]
    first = imports[0]
    assert (first.module, [alias.name for alias in first.names]) == (
        f"{PACKAGE}._host.require_python",
        ["require_python"],
    )
    assert ast.unparse(tree.body[tree.body.index(first) + 1]) == "require_python()"


def test_the_oldest_python_is_in_one_place() -> None:
    files = [path.name for path in (ROOT / "plugins").rglob("*.py") if "(3, 9)" in path.read_text()]
    assert files == ["oldest_python.py"]


def test_a_module_refuses(old_python: str) -> None:
    done = subprocess.run(
        [old_python, "-c", f"from {PACKAGE}._host.require_python import require_python; require_python()"],
        cwd=ROOT / "collections",
        capture_output=True,
        text=True,
        check=False,
    )
    message = json.loads(done.stdout)["msg"]
    assert done.returncode == 1
    assert f"{old_python} is Python 3.8." in message
    assert "Python 3.9 or newer" in message


def test_the_runner_refuses(old_python: str, tmp_path: Path) -> None:
    (tmp_path / "runner.pyz").write_bytes(runner_zipapp())
    command = [old_python, str(tmp_path / "runner.pyz"), str(tmp_path), "nonce"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{old_python} is Python 3.8." in done.stderr
    assert "needs Python 3.9 or newer" in done.stderr


def test_the_controller_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    with pytest.raises(AnsibleError, match=r"3[.]11 .* 3[.]10[.]13"):
        importlib.reload(_action)
