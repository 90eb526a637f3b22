# SPDX-License-Identifier: GPL-3.0-or-later
"""How code comes to a node, and which files a copy adds, changes and removes, as people read it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...module_utils._records.file_tree import TreeDifference
from ...module_utils._text.printable import clean

RSYNC, ARCHIVE = "rsync", "archive"
# Of the connections that ansible.posix.synchronize can use, those to machines that have rsync.
REACHED = ("ssh", "paramiko", "local")
# A screen or two of each kind; the result has all.
SHOWN = 50
# What changes about a file, by its place in a line of rsync (rsync(1), --itemize-changes).
_LINE = re.compile(r"(?P<deleted>\*deleting) +(?P<gone>.+)|[<>ch.][fdLDS](?P<flags>[^ ]{9}) (?P<path>.+)")


def choose_way(transport: str) -> str:
    """Return how to copy over a connection of Ansible."""
    return RSYNC if transport in REACHED else ARCHIVE


def parse_rsync(lines: Iterable[str]) -> TreeDifference:
    """Return what rsync says that it has copied and deleted, or would; a line of any other kind is left out."""
    difference = TreeDifference([], [], [])
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or match["path"] == "./":
            continue
        if match["deleted"]:
            difference.removed.append(match["gone"])
        else:
            (difference.added if {*match["flags"]} == {"+"} else difference.changed).append(match["path"])
    return difference


def show_difference(difference: TreeDifference, src: str, dest: str, way: str) -> str:
    """Return the text that --diff shows."""
    lines = [clean(f"{src} -> {dest} ({way})")]
    for word, paths in difference._asdict().items():
        lines += [f"{word:<9}{clean(path)}" for path in paths[:SHOWN]]
        if len(paths) > SHOWN:
            lines.append(f"{word:<9}and {len(paths) - SHOWN} more")
    return "".join(f"{line}\n" for line in lines)
