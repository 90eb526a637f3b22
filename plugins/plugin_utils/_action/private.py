# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments are for their owner alone: directories 0700, files 0600."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Make the files and directories that are created meanwhile private."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def close_to_others(home: Path) -> None:
    """Close an experiment that an older version left open; another user's stays as its owner wants it."""
    with contextlib.suppress(OSError):
        if home.stat().st_mode & 0o077:
            home.chmod(0o700)
