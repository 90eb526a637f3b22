# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster is called: after its folder of the inventory."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

# Names of files that say nothing of the cluster; their folder does.
USUAL = ("hosts", "inventory", "nodes", "cluster")
LONGEST = 40


def cluster_name(sources: Sequence[str]) -> str:
    """Return `h100` for inventories/h100, inventories/h100/hosts.yml and h100.ini; several are joined by a plus."""
    return "+".join(dict.fromkeys(map(_name, sources)))[:LONGEST]


def _name(source: str) -> str:
    if "," in source:  # hosts, not a file
        return source.strip(",")
    folder, file = posixpath.split(posixpath.normpath(source))
    stem = posixpath.splitext(file)[0]
    return posixpath.basename(folder) or stem if stem in USUAL else stem
