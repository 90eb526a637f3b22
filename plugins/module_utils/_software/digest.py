# SPDX-License-Identifier: GPL-3.0-or-later
"""A digest of the content of files, within a time and a size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Callable

from .._host.budget import Budget
from .._host.host import Host
from .._records.frozen import field, frozen
from .._records.node import LISTED_FILES

# A checkout of PyTorch, with its vendored repositories, has 4,000 files that can be imported.
FILES = 5000
SIZE, TOTAL_SIZE = 64 * 1024 * 1024, 256 * 1024 * 1024
DIGITS = 8  # of each file that is listed


@frozen
class Digest:
    """The digest of files in hex, with the beginning of that of each of the first LISTED_FILES; uncompared: why not.

    A file that is gone has "".
    """

    value: str | None
    files: dict[str, str] = field(default_factory=dict)
    uncompared: str | None = None


def digest_files(
    host: Host, top: str, names: Iterable[str], budget: Budget, read: Callable[[Host, str, Budget], str | None]
) -> Digest:
    """Return the digest of files below a directory; read returns what one file is, None if that is not known."""
    ordered = sorted(set(names))
    if len(ordered) > FILES:
        return Digest(None, uncompared=f"there are more than {FILES} files")
    whole, files, total = hashlib.sha256(), dict[str, str](), 0
    for name in ordered:
        file = f"{top}/{name}"
        size = host.size(file) or 0
        total += size
        if size > SIZE:
            return Digest(None, uncompared=f"{name} is larger than {SIZE >> 20} MiB")
        if total > TOTAL_SIZE:
            return Digest(None, uncompared=f"the files are larger than {TOTAL_SIZE >> 20} MiB together")
        if not budget.left(1.0):
            return Digest(None, uncompared="reading them took too long")
        content = read(host, file, budget)
        if content is None:
            return Digest(None, uncompared=f"{name} could not be read")
        whole.update(f"{name}\0{content}\0".encode("utf-8", "backslashreplace"))
        if len(files) < LISTED_FILES:
            files[name] = content and hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:DIGITS]
    return Digest(whole.hexdigest(), files)
