# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A digest of the changes in a checkout.

Two nodes at one commit have the same code only if their changes are the same. Ignored files do not count. Git lists the
files, but their contents are read here, because git's output of them depends on the user's configuration.
"""

from __future__ import annotations

import hashlib

from .._host.budget import Budget
from .._host.host import Host

ABOVE = ("git", "rev-parse", "--show-cdup")
CHANGED = ("git", "--no-optional-locks", "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", "HEAD")
NEW = ("git", "--no-optional-locks", "ls-files", "--others", "--exclude-standard", "-z")
INNER = ("git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
TIME_S = 3.0
# A folder full of outputs that git does not ignore is not worth the time.
FILES, SIZE = 500, 16 * 1024 * 1024


def read_changes(host: Host, path: str) -> str | None:
    """Return the digest in hex of the changed and new files of a checkout; None where it cannot be computed in time."""
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
        content = _content(host, file, budget)
        if content is None:
            return None
        digest.update(f"{name}\0{content}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _content(host: Host, file: str, budget: Budget) -> str | None:
    """Return a digest of a file, for a nested repository its commit; None if it could not be read."""
    link = host.read_link(file)
    if link is not None:
        return link
    if host.is_dir(file):
        # In a folder without .git, git reports the repository around it.
        result = budget.run(INNER, TIME_S, file) if host.exists(f"{file}/.git") else None
        digests = result.out.splitlines() if result and result.rc == 0 else []
        commit = [line for line in digests if line.startswith("# branch.oid ") and not line.endswith("(initial)")]
        changed = any(not line.startswith("# ") for line in digests)
        return commit[0] if commit and not changed else None
    digest = host.sha256(file)
    if digest is None and host.exists(file):
        return None
    owner = host.owner(file)
    return f"{digest} {bool(owner and owner.mode & 0o100)}"
