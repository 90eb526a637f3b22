# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files an import can reach: what a program writes beside the code is mostly none of them."""

from __future__ import annotations

from collections.abc import Iterable

SUFFIXES = ("py", "so")
CACHE = "__pycache__"


def is_module(name: str) -> bool:
    """Return whether a file of this name can be imported: model.py, native.cpython-311-x86_64-linux-gnu.so."""
    stem, _dot, suffix = name.partition(".")
    return stem.isidentifier() and (suffix in SUFFIXES or suffix.endswith(".so"))


def is_package(name: str) -> bool:
    """Return whether a directory of this name can be a package; it needs no __init__.py."""
    return name.isidentifier() and name != CACHE


def can_import(path: str, roots: Iterable[str]) -> bool:
    """Return whether an import reaches the path from one of these directories, all relative to one, which is "".

    A path that ends in / is a directory.
    """
    for root in roots:
        if root and not path.startswith(f"{root}/"):
            continue
        *folders, name = path[len(root) + 1 if root else 0 :].split("/")
        if all(map(is_package, folders)) and (is_module(name) if name else bool(folders)):
            return True
    return False


def below(top: str, paths: Iterable[str]) -> list[str]:
    """Return those of the paths that are top or below it, relative to it; "" is top."""
    base = f"{top.rstrip('/')}/"
    return sorted(
        {path[len(base) :] for path in paths if path.startswith(base)} | {"" for path in paths if path == top}
    )
