# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a node's file, as the module `run_file` returned it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any


def part_of(answer: Mapping[str, Any]) -> bytes:
    """Return the bytes of a part; raise ValueError where they are not those that the node read."""
    data = base64.b64decode(answer["content"])
    if hashlib.sha256(data).hexdigest() != answer["sha256"]:
        raise ValueError("the copy differs from the file on the node (sha256)")
    return data
