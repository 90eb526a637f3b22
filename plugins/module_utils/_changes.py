# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is changed in a checkout, as one digest. (`_changes.py` is private to the collection.)

Two nodes at one commit have the same code only if their changes are the same. What git ignores is no part of it. Git
names the files, and their contents are read here: what it prints of them depends on a user's configuration.
"""

from __future__ import annotations

import hashlib

from ._budget import Budget
from ._host import Host

ABOVE = ("git", "rev-parse", "--show-cdup")
CHANGED = ("git", "--no-optional-locks", "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", "HEAD")
NEW = ("git", "--no-optional-locks", "ls-files", "--others", "--exclude-standard", "-z")
TIME_S = 3.0
# A folder full of outputs that nobody ignores is not worth the time.
FILES, SIZE = 500, 16 * 1024 * 1024


def read_changes(host: Host, path: str) -> str | None:
    """Return the digest in hex of the changed and new files of a checkout; None where it cannot be told in time."""
    budget = Budget(host, TIME_S)
    above = budget.run(ABOVE, TIME_S, path)
    top = host.resolve(f"{path}/{above.out.strip()}")
    if above.rc != 0 or top is None:
        return None
    names: set[str] = set()
    for command in (CHANGED, NEW):
        result = budget.run(command, TIME_S, top)
        if result.rc != 0:
            return None
        names.update(filter(None, result.out.split("\0")))
    if len(names) > FILES:
        return None
    digest = hashlib.sha256()
    for name in sorted(names):
        file = f"{top}/{name}"
        if (host.size(file) or 0) > SIZE or not budget.left(TIME_S):
            return None
        owner = host.owner(file)
        content = host.read_link(file) or f"{host.sha256(file)} {bool(owner and owner.mode & 0o100)}"
        digest.update(f"{name}\0{content}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
