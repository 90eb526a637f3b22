# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner as one file."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._runs import read
from ansible_collections.muster.train.plugins.plugin_utils._plan import bundle
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp
from ansible_collections.muster.train.plugins.plugin_utils._plan.start import start_options


def names_in(data: bytes) -> set[str]:
    return set(zipfile.ZipFile(io.BytesIO(data)).namelist())


def test_the_zipapp_is_whole_and_always_the_same() -> None:
    data = runner_zipapp()
    assert data == runner_zipapp()
    source = Path(read.__file__).parents[1]
    programs = {f"muster/{name}" for names in bundle.PROGRAMS.values() for name in names}
    expected = {f"muster/{path.relative_to(source)}" for path in (source / "runner").rglob("*.py")} - programs
    beside = {f"muster/{name}" for name in bundle._BESIDE}
    assert names_in(data) == expected | beside | {"__main__.py", "muster/__init__.py", "site.zip"}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.read("muster/runner/locks.py") == (source / "runner" / "locks.py").read_bytes()


@pytest.mark.parametrize("program", bundle.PROGRAMS)
def test_a_program_is_sent_where_a_job_runs_it(program: str) -> None:
    job = {"run_dir": "/w/run", "argv": ["torchrun", f"/w/run/{program}"]}
    sent = names_in(zlib.decompress(base64.b64decode(start_options({"job": job})["runner"])))
    assert sent - names_in(runner_zipapp()) == {f"muster/{name}" for name in bundle.PROGRAMS[program]}


def test_the_zipapp_imports_nothing_else_of_the_collection(tmp_path: Path) -> None:
    archive = tmp_path / "runner.pyz"
    archive.write_bytes(runner_zipapp())
    code = "import sys; sys.path.insert(0, sys.argv[1]); import muster.runner.main, muster.runner.telemetry.sampler"
    subprocess.run([sys.executable, "-I", "-c", code, archive], check=True)


def test_the_program_of_pairs_has_all_that_it_imports(tmp_path: Path) -> None:
    archive = tmp_path / "runner.pyz"
    archive.write_bytes(runner_zipapp("pairs.py"))
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import muster.runner.pairs.program"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
