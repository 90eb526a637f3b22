# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One digest for all that a checkout has beyond its commit. (`_changes.py` is private to the collection.)

Of the files' own contents, not of `git diff`: how that looks depends on each user's configuration of git.
"""

from __future__ import annotations

import hashlib
import os
from typing import Callable

from ._host import Host

TIMEOUT_S = 5.0
# As a way up from here: the machine may be seen below another root.
UP = ["git", "rev-parse", "--show-cdup"]
CHANGES = [
    *("git", "--no-optional-locks", "status", "--porcelain=v2", "-z"),
    *("--untracked-files=all", "--no-renames", "--ignore-submodules=none"),
]
# A checkpoint that nobody ignores must not be read at every look: of such a file the size counts.
LARGE = 16 * 1024 * 1024
MOST = 5000
# Words before the path in a line of git-status(1), Porcelain Format Version 2, by the line's kind.
_WORDS = {"1": 8, "u": 10, "?": 1}


def parse_changes(text: str) -> list[str]:
    """Return the sorted paths, below the top of the checkout, that are changed, gone or new."""
    found = set()
    for entry in text.split("\0"):
        words = _WORDS.get(entry[:1])
        parts = entry.split(" ", words) if words else []
        if words and len(parts) == words + 1 and parts[-1]:
            found.add(parts[-1])
    return sorted(found)


def describe(host: Host, path: str) -> str:
    """Return what one path is now: its kind, whether it can be executed, its content."""
    target = host.read_link(path)
    if target is not None:
        return f"link {target}"
    if host.is_dir(path):
        return "directory"  # a submodule: its own changes are its own
    if not host.is_file(path):
        return "gone"
    kind = "program" if host.allows(path, os.X_OK) else "file"
    size = host.size(path) or 0
    return f"{kind} {size}" if size > LARGE else f"{kind} {host.sha256(path)}"


def hash_changes(host: Host, path: str, warn: Callable[[str], None]) -> str | None:
    """Return a digest (16 hex digits) of everything changed, gone or new and not ignored; None: could not be known."""
    up = host.run(UP, timeout=TIMEOUT_S, cwd=path)
    found = host.run(CHANGES, timeout=TIMEOUT_S, cwd=path)
    if up.rc != 0 or found.rc != 0:
        return None
    paths = parse_changes(found.out)
    if len(paths) > MOST:
        warn(f"code {path}: {len(paths)} files are changed or new; which ones is not told (more than {MOST})")
        return None
    digest = hashlib.sha256()
    base = f"{path}/{up.out.strip()}".rstrip("/")
    for each in paths:
        digest.update(f"{each}\0{describe(host, f'{base}/{each}')}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]
