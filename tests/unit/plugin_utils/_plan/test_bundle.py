# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner as one file."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._runs import read
from ansible_collections.muster.train.plugins.plugin_utils._plan import bundle
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp


def test_the_zipapp_is_whole_and_always_the_same() -> None:
    data = runner_zipapp()
    assert data == runner_zipapp()
    source = Path(read.__file__).parents[1]
    shipped = set(zipfile.ZipFile(io.BytesIO(data)).namelist())
    expected = {f"muster/{path.relative_to(source)}" for path in (source / "runner").rglob("*.py")}
    beside = {f"muster/{name}" for name in bundle._BESIDE}
    assert shipped == expected | beside | {"__main__.py", "muster/__init__.py", "site.zip"}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.read("muster/runner/locks.py") == (source / "runner" / "locks.py").read_bytes()


def test_the_zipapp_imports_nothing_else_of_the_collection(tmp_path: Path) -> None:
    archive = tmp_path / "runner.pyz"
    archive.write_bytes(runner_zipapp())
    code = "import sys; sys.path.insert(0, sys.argv[1]); import muster.runner.main, muster.runner.telemetry.sampler"
    subprocess.run([sys.executable, "-I", "-c", code, archive], check=True)
