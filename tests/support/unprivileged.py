# SPDX-License-Identifier: GPL-3.0-or-later
"""Do something as the user nobody, in a folder that this user can reach."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that others may enter (those of pytest they may not)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody(work: Callable[[], Any]) -> Any:
    """Return what the function returns (something JSON can hold) when that user calls it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps({"error": repr(error)}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as stream:
        answer = json.load(stream)
    os.waitpid(pid, 0)
    return answer
