# SPDX-License-Identifier: GPL-3.0-or-later
"""A digest of the changes in a checkout.

Two nodes at one commit have the same code only if their changes are the same. Ignored files do not count, and new files
only where an import can reach them or the launch names them: a program may write others into its directory. Git lists
the files, but their contents are read here, because git's output of them depends on the user's configuration.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._host.budget import Budget
from .._host.host import Host
from .digest import Digest, digest_files
from .importable import SUFFIXES, below, can_import

ABOVE = ("git", "rev-parse", "--show-cdup")
CHANGED = ("git", "--no-optional-locks", "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", "HEAD")
NEW = ("git", "--no-optional-locks", "ls-files", "--others", "--exclude-standard", "-z", "--")
INNER = ("git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
# Files that may be imported, and directories: repositories in this one, of which git lists no files.
PATTERNS = (*(f"*.{suffix}" for suffix in SUFFIXES), "*/")
TIME_S = 3.0


def read_changes(host: Host, path: str, directories: Iterable[str], named: Iterable[str]) -> Digest:
    """Return the digest of the changed and new files of the checkout that path is in; None for one without any.

    directories are those in which Python looks for modules, named the files that count in any case; both absolute.
    """
    budget = Budget(host, TIME_S)
    above = budget.run(ABOVE, TIME_S, path)
    top = host.resolve(f"{path}/{above.out.strip()}")
    if above.rc != 0 or top is None:
        return Digest(None, uncompared=f"git rev-parse failed: {above.why(TIME_S)}")
    roots = ["", *below(top, [host.resolve(directory) or directory for directory in directories])]
    asked = below(top, [host.resolve(file) or file for file in named])
    names: set[str] = set()
    for command in (CHANGED, (*NEW, *PATTERNS, *(f":(literal){name}" for name in asked))):
        result = budget.run(command, TIME_S, top)
        if result.rc != 0:
            return Digest(None, uncompared=f"git {command[2]} failed: {result.why(TIME_S)}")
        listed = filter(None, result.out.split("\0"))
        names.update(name for name in listed if command is CHANGED or name in asked or can_import(name, roots))
    return digest_files(host, top, names, budget, _content) if names else Digest(None)


def _content(host: Host, file: str, budget: Budget) -> str | None:
    """Return what a file is, for a nested repository its commit; None if it could not be read, "" if it is gone."""
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
    if digest is None:
        return None if host.exists(file) else ""
    owner = host.owner(file)
    return f"{digest} {bool(owner and owner.mode & 0o100)}"
