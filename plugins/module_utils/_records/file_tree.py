# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory tree as it crosses from the controller to a node, and how two of them differ."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

FILE, FOLDER, LINK, OTHER = "file", "directory", "link", "other"


class TreeEntry(NamedTuple):
    """One name in a tree. content: a link's target, a file's digest, "" where it was not read; size in bytes.

    Of a mode only whether the owner may execute the file, as git has it: a volume may add rights for a group by itself.
    """

    kind: str
    size: int = 0
    executable: bool = False
    content: str = ""


class TreeDifference(NamedTuple):
    """Paths below the directory, in order."""

    added: list[str]
    changed: list[str]
    removed: list[str]


def compare_trees(
    wanted: Mapping[str, TreeEntry], present: Mapping[str, TreeEntry], kept: Collection[str] | None
) -> TreeDifference:
    """Return what makes the present tree the wanted one; kept: what stays although it is not wanted, None for all."""
    return TreeDifference(
        added=sorted(path for path in wanted if path not in present),
        changed=sorted(path for path, entry in wanted.items() if present.get(path, entry) != entry),
        removed=[] if kept is None else sorted(path for path in present if path not in wanted and path not in kept),
    )


def pack_tree(entries: Mapping[str, TreeEntry]) -> str:
    """Return entries as text of ASCII; a name need not be UTF-8."""
    return base64.b64encode(zlib.compress(json.dumps(entries).encode())).decode()


def unpack_tree(text: str) -> dict[str, TreeEntry]:
    """Return the entries of a text that pack_tree made. Raises ValueError, or zlib.error, for any other."""
    entries = json.loads(zlib.decompress(base64.b64decode(text)))
    return {path: TreeEntry(*values) for path, values in entries.items()}
