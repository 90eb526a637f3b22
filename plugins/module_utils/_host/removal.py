# SPDX-License-Identifier: GPL-3.0-or-later
"""Renaming and removing directories, which only `run_prune` does."""

from __future__ import annotations

import os
import shutil
from typing import Any

from .paths import Rooted


def rename(host: Rooted, path: str, new: str) -> None:
    """Rename within a file system. Raises OSError."""
    os.rename(host.here(path), host.here(new))


def remove_tree(host: Rooted, path: str) -> str | None:
    """Remove a directory tree without following links; return the first failure."""
    top = host.here(path)
    failures: list[str] = []

    def note(_function: object, where: str, error: Any) -> None:
        failures.append(f"{path}{where[len(top) :]}: {getattr(error[1], 'strerror', None) or error[1]}")

    shutil.rmtree(top, onerror=note)
    return failures[0] if failures else None
