# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of a sweep, which one command at a time uses."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .._action.files import locked, read_text, write_text
from .._action.private import private_files
from .._findings.errors import UserError
from .record import FILE, Sweep, dump, load

OPTION, EXPECTED = "launch_experiments_dir", "a directory that you can write to"
LOCK = ".lock"
# Held only while a command chooses its directory.
CHOICE_LOCK = ".sweeps.lock"


def find(experiments: Path, planned: Sweep) -> tuple[Path, Sweep]:
    """Return the newest sweep that the same command has begun, else the planned one, and its directory."""
    for path in sorted(experiments.glob(f"sweep_*/{FILE}"), reverse=True):
        text = read_text(path) or ""
        if planned.key not in text:  # reading YAML takes long
            continue
        with contextlib.suppress(ValueError):
            known = load(text)
            if known.key == planned.key:
                return path.parent, known.asked_as(planned)
    home = experiments / planned.sweep_id
    number = 1
    while home.exists():  # another sweep was begun in the same second
        number += 1
        home = experiments / f"{planned.sweep_id}_{number}"
    return home, replace(planned, sweep_id=home.name)


@contextlib.contextmanager
def open_folder(experiments: Path, planned: Sweep) -> Iterator[tuple[Path, Sweep]]:
    """Yield the directory of a sweep, made where it does not exist, and what is known of it, under its lock."""
    with contextlib.ExitStack() as locks:
        try:
            chosen = _choose(experiments, planned, locks)
        except OSError as error:
            path, why = error.filename or experiments, error.strerror
            raise UserError(f"{OPTION}: {path} could not be written ({why}); expected {EXPECTED}") from None
        yield chosen


def _choose(experiments: Path, planned: Sweep, locks: contextlib.ExitStack) -> tuple[Path, Sweep]:
    """Choose the directory while no other command does, and lock it; raise UserError if another command uses it."""
    with private_files():
        experiments.mkdir(parents=True, exist_ok=True)
        with locked(experiments / CHOICE_LOCK):
            home, sweep = find(experiments, planned)
            home.mkdir(exist_ok=True)
            try:
                locks.enter_context(locked(home / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB))
            except BlockingIOError:
                raise UserError(
                    f"{home.name}: another command runs this sweep; wait for its end, or end it with Ctrl-C"
                ) from None
            return home, sweep


def write(home: Path, sweep: Sweep) -> None:
    """Write what is known of a sweep."""
    with private_files():
        write_text(home / FILE, dump(sweep), OPTION, EXPECTED)
