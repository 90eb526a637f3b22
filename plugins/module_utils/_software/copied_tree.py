# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of a directory of the controller: how it differs from the original, and why it could not be written."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping

from .._host.host import Host
from .._host.tree import ListedTree, list_tree
from .._records.file_tree import FILE, OTHER, TreeDifference, TreeEntry, compare_trees
from .excludes import excluded_by

_FREE = "free some there, or set launch_code_dir to another volume"
# What to do about the error of a write, by its number.
REMEDIES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.ENOTEMPTY: (
        "the controller has a file or a link of that name, and here it is a directory that is not empty: remove it, or "
        "set code_rsync_delete to true"
    ),
}
REMEDY = "let the user that tasks run as write there, or set launch_code_dir to a directory that this user can write"


def read_original(host: Host, path: str, excludes: Iterable[str]) -> ListedTree:
    """Return what is to be copied: regular files with their digests, directories and links."""
    listed = list_tree(host, path, excluded_by(excludes))
    entries = {}
    for name, entry in listed.entries.items():
        if entry.kind == FILE:
            digest = host.sha256(f"{path}/{name}")
            if digest is None:
                listed.unreadable[name] = "it could not be read"
            entry = entry._replace(content=digest or "")
        if entry.kind != OTHER:
            entries[name] = entry
    return listed._replace(entries=entries)


def compare_copy(
    host: Host, path: str, wanted: Mapping[str, TreeEntry], excludes: Iterable[str], delete: bool
) -> TreeDifference:
    """Return how a copy differs.

    Only files that may be the same are read, and what is not to be deleted is not even listed: runs write there, too.
    """
    listed = list_tree(host, path, excluded_by(excludes) if delete else lambda name, _is_folder: name not in wanted)
    present = {
        name: entry._replace(content=host.sha256(f"{path}/{name}") or "")
        if entry.kind == FILE and name in wanted and entry == wanted[name]._replace(content="")
        else entry
        for name, entry in listed.entries.items()
    }
    return compare_trees(wanted, present, listed.kept if delete else None)


def why_not_written(error: OSError, user: str) -> str:
    """Return what went wrong, and what to do."""
    what = f"{error.filename} could not be written by user {user} ({error.strerror or error})"
    return f"{what}; {REMEDIES.get(error.errno or 0, REMEDY)}"
