# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments are for their owner alone: directories 0700, files 0600."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .._findings.errors import UserError

# Enough for the first files of an experiment; an empty file can be created even on a full disk.
TRIED_BYTES = 1 << 16


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Make the files and directories that are created meanwhile private."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def try_writing(folder: Path, option: str, make: bool) -> None:
    """Write a file that goes away again in a directory; raise UserError naming the option that chose the path.

    A directory that does not exist is made, or else the nearest one above it is tried.
    """
    try:
        with private_files():
            if make:
                folder.mkdir(parents=True, exist_ok=True)
            tried = next(path for path in (folder, *folder.parents) if path.exists())
            with tempfile.TemporaryFile(dir=tried) as stream:
                stream.write(bytes(TRIED_BYTES))
    except OSError as error:
        raise UserError(
            f"{option}: {folder} could not be written ({error.strerror or error}); expected a directory that "
            f"you can write to, with free space; choose another with -e {option}=PATH"
        ) from None
