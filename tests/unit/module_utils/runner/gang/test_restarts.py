# SPDX-License-Identifier: GPL-3.0-or-later
"""When a run is started again: with real runners, what counts as progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.gang import Running, make_gang

pytestmark = pytest.mark.slow

# An attempt that saves a checkpoint under a clock that was set back, and fails.
SAVES = """
import os, sys
folder = os.path.join(sys.argv[1], "checkpoints")
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "%d.pt" % len(os.listdir(folder)))
open(path, "w").close()
for name in (path, folder):
    os.utime(name, (1000, 1000))
sys.exit(5)
"""


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Any]:
    made: list[Running] = []

    def run(code: str, *arguments: str, **changes: Any) -> tuple[int, int]:
        """Run a node of one rank to its end; return the number and the exit code of its last attempt."""
        made.append(Running(make_gang(tmp_path, [[sys.executable, "-c", code, *arguments]], **changes)))
        made[-1].start()
        assert made[-1].codes(90) == [1]
        return made[-1].state(0)["attempt"], made[-1].state(0)["exit_code"]

    yield run
    for running in made:
        running.end()


def test_checkpoints_under_a_clock_that_was_set_back_are_progress(alone: Any, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    assert alone(SAVES, str(outputs), output_dir=str(outputs), max_restarts=4) == (4, 5)
    assert len(list((outputs / "checkpoints").iterdir())) == 5


def test_checkpoints_in_a_declared_directory_are_progress(alone: Any, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    assert alone(SAVES, str(shared), checkpoint_dir=str(shared / "checkpoints"), max_restarts=3) == (3, 5)


def test_steps_in_the_log_are_progress(alone: Any, tmp_path: Path) -> None:
    code = """
import os, sys
print("step %d/100 loss 1.0" % (10 * len(os.listdir(sys.argv[1]))), flush=True)
open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
sys.exit(5)
"""
    (tmp_path / "attempts").mkdir()
    assert alone(code, str(tmp_path / "attempts"), max_restarts=3) == (3, 5)


def test_the_next_attempts_port_is_kept_until_it_begins(alone: Any, tmp_path: Path) -> None:
    code = """
import os, socket, sys
port = int(os.environ["PET_RDZV_ENDPOINT"].rpartition(":")[2])
def is_free(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
begun = os.path.exists(sys.argv[1])
open(sys.argv[1], "w").close()
sys.exit(8 if not is_free(port) else 9 if not begun and is_free(port + 1) else 5)
"""
    assert alone(code, str(tmp_path / "begun"), max_restarts=1) == (1, 5)
