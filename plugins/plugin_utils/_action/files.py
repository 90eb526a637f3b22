# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's files: read as text, written as a whole, and how they change."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ansible import constants

from .._findings.errors import UserError

PAGE_EXPECTED = "a file in a directory that you can write to; give another with -e page=PATH"


def relative(path: str | Path) -> str:
    """Return a path as it is shortest from here."""
    return min(os.path.abspath(path), os.path.relpath(path), key=len)


def read_text(path: Path) -> str | None:
    """Return a file's text, or None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def write_text(path: Path, text: str, option: str, expected: str) -> None:
    """Write a file at once as a whole, with its directory; raise UserError naming the option that chose the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{option}: {path} could not be written ({why}); expected {expected}") from None


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield where to write what takes the place of a file at once; no other command writes there at the same time."""
    new = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        yield new
        new.replace(path)
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path, operation: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold a lock, of flock(2), on a file that is made where it does not exist."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def make_once(name: str, make: Callable[[], str]) -> str:
    """Return a text that one worker of this command makes for all; name is its own among those of the command."""
    path = Path(str(vars(constants)["DEFAULT_LOCAL_TMP"])) / name
    with locked(path.with_suffix(".lock")):
        if not path.exists():
            text = make()
            with replacement(path) as new:
                new.write_text(text, encoding="utf-8")
        return path.read_text(encoding="utf-8")


def write_temporary(prefix: str, text: str) -> str:
    """Write a private file that Ansible removes when the playbook ends, and return its path."""
    descriptor, path = tempfile.mkstemp(prefix=prefix, dir=str(vars(constants)["DEFAULT_LOCAL_TMP"]))
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path


def diff(path: Path, before: str | None, after: str) -> dict[str, str]:
    """Return how a file changes, as Ansible shows it with --diff."""
    return {"before": before or "", "after": after, "before_header": str(path), "after_header": str(path)}


def make_link(link: Path, target: str, is_newest: bool) -> None:
    """Make a symbolic link at once, in the place of an earlier one if that leads nowhere, or if this is the newest."""
    if (link.exists() and not is_newest) or (os.path.lexists(link) and not link.is_symlink()):
        return
    with replacement(link) as new:
        new.symlink_to(target)
