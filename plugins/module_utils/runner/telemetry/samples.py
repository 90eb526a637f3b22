# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of samples: lines of JSON, never more than so many bytes of them, however long the run takes."""

from __future__ import annotations

import json
import os
from typing import Any

from .. import files

# At ten seconds, more than eight hours of a node with eight GPUs.
LIMIT = 4 * 1024 * 1024


class SampleFile:
    """Appends lines; a file that is full loses every second sample, and keeps its notes."""

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        self._path, self._limit = path, limit

    def append(self, line: dict[str, Any]) -> bool:
        """Write a line; return whether samples were dropped, so that fewer are enough from now on. Raises OSError."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        with open(files.create(self._path, os.O_WRONLY | os.O_APPEND), "ab") as stream:
            stream.write(data)
            size = stream.tell()
        if size <= self._limit:
            return False
        with open(self._path, "rb") as stream:
            lines = stream.readlines()
        kept = [line for number, line in enumerate(lines) if number % 2 == 0 or b'"note":' in line]
        files.write_atomic(self._path, b"".join(kept), durable=False)
        return True
