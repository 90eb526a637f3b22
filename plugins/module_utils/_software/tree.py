# SPDX-License-Identifier: GPL-3.0-or-later
"""A digest of code without git: of the files that an import can reach.

What a program writes beside its code is on some nodes only, and must not count. Files that the role code did not
copy do not count, and links to directories are not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._host.budget import Budget
from .._host.host import Host
from .digest import Digest, digest_files
from .excludes import Excluded, excluded_by
from .importable import is_module, is_package

TIME_S = 3.0
# Data beside the code is not worth more time; looking at so many takes 0.2 s on a local disk.
ENTRIES = 200_000


def read_tree(host: Host, top: str, roots: Sequence[str], excludes: Iterable[str]) -> Digest:
    """Return the digest of the files that an import can reach from these directories below top ("" is top)."""
    budget = Budget(host, TIME_S)
    names = _modules(host, top, roots, excluded_by(excludes), budget)
    if isinstance(names, str):
        return Digest(None, uncompared=names)
    return digest_files(host, top, names, budget, _content)


def _content(host: Host, file: str, _budget: Budget) -> str | None:
    """Return the digest of a file; what cannot be imported, such as a link to nothing, is as if it were not there."""
    digest = host.sha256(file)
    return "" if digest is None and not host.is_file(file) else digest


def _modules(host: Host, top: str, roots: Sequence[str], excluded: Excluded, budget: Budget) -> list[str] | str:
    """Return the modules below the roots, or why they cannot be listed."""
    pending, visited, modules = list(roots), set(roots), list[str]()
    left = ENTRIES
    while pending:
        folder = pending.pop()
        before = f"{folder}/" if folder else ""
        entries = host.scan_dir(f"{top}/{folder}", left + 1)
        if entries is None:
            # A directory that this user cannot list cannot be imported from either.
            continue
        left -= len(entries)
        if left < 0:
            return f"there are more than {ENTRIES:,} files and directories"
        if not budget.left(TIME_S):
            return "listing them took too long"
        for entry in entries:
            path = before + entry.name
            if entry.is_dir:
                if path not in visited and is_package(entry.name) and not excluded(path, True):
                    visited.add(path)
                    pending.append(path)
            elif is_module(entry.name) and not excluded(path, False):
                modules.append(path)
    return modules
