# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Python process of a run imports at its start."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.stacks import handler, sitecustomize

SOURCE = Path(str(sitecustomize.__file__))

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The archive of a run that comes first on PYTHONPATH."""
    return archive_of(tmp_path, SOURCE.read_text())


def archive_of(folder: Path, source: str) -> Path:
    with zipfile.ZipFile(folder / "site.zip", "w") as archive:
        archive.writestr(SOURCE.name, source)
    return folder / "site.zip"


def run(program: str, *path: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


SHOW = "import sys; print(sys.path); print(sys.modules.get('sitecustomize'))"


def test_the_program_sees_no_difference(site: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    with_handler, without = run(SHOW, site, library), run(SHOW, library)
    assert with_handler.stdout.splitlines()[0] == without.stdout.splitlines()[0]
    assert (with_handler.stderr, with_handler.returncode) == (without.stderr, 0)


@pytest.mark.parametrize("hidden", ["import sys; sys.hidden = 'ran'; print(__file__)", "import absent", "1 / 0"])
def test_the_sitecustomize_that_it_hides_runs_as_it_would_alone(site: Path, tmp_path: Path, hidden: str) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "sitecustomize.py").write_text(hidden)
    show = SHOW + "; print(getattr(sys, 'hidden', None))"
    both, alone = run(show, site, library), run(show, library)
    assert (both.stdout, both.stderr, both.returncode) == (alone.stdout, alone.stderr, alone.returncode)
    assert ("ran" in both.stdout) is ("hidden" in hidden)


def test_the_handlers_of_the_program_stay_its_own(site: Path) -> None:
    program = """
import faulthandler, signal, sys
print({number: str(signal.getsignal(number)) for number in signal.valid_signals() if number != 61})
print(faulthandler.is_enabled())
"""
    assert run(program, site).stdout == run(program).stdout


END = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("program", "options", "is_known"),
    [
        (END, (), True),
        (END, ("-S",), False),
        (END, ("-I",), False),
        # What has its descriptor now may be a file of the program.
        (f"import os; os.closerange(3, 256); {END}", (), False),
        (f"import signal; signal.signal(61, signal.SIG_DFL); {END}", (), False),
        ("import os; os.execvp('sh', ['sh', '-c', 'echo ready; exec sleep 60'])", (), False),
    ],
)
def test_only_a_process_with_the_handler_is_asked(
    site: Path, program: str, options: tuple[str, ...], is_known: bool
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, *options, "-c", program]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        process = process_tree.look(started.pid)
        assert process is not None
        assert handler.has_handler(process) is is_known
        assert bool(handler.ask([process])) is is_known
        assert started.poll() is None
        started.kill()


def test_a_python_without_files_in_memory_uses_one_that_has_no_name(tmp_path: Path) -> None:
    site = archive_of(tmp_path, "import os\ndel os.memfd_create\n" + SOURCE.read_text())
    program = "import os; print([os.readlink(f'/proc/self/fd/{name}') for name in os.listdir('/proc/self/fd')[:-1]])"
    shown = run(program, site)
    assert "/dev/shm/muster-stacks-" in shown.stdout, shown
    assert not list(Path("/dev/shm").glob("muster-stacks-*"))
