# SPDX-License-Identifier: GPL-3.0-or-later
"""The directories below a node's work directory that only its user may write."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .._host.trust import make_trusted, owners_below
from .._records import layout
from .._records.path_part import ROOT_OWNER
from ..runner import files
from .starters.base import StartError


def make_directories(workdir: str, node: str, below: Iterable[str]) -> set[int]:
    """Make a work directory, the node's own in it and these below that; return the uids that may own them.

    Raises StartError for one that another user could replace or has made, and OSError.
    """
    _make_workdir(workdir)
    owners = owners_below(workdir)
    for path in (*layout.parents(workdir, node), *below):
        _make_private(path, owners)
    return owners


def _make_workdir(path: str) -> None:
    """Make the work directory; root runs only where no other user could replace what it executes."""
    if os.geteuid() != 0:
        os.makedirs(path, exist_ok=True)
        return
    part = make_trusted(path)
    if part is not None:
        raise StartError(
            f"{part.danger_for('root')}; expected {ROOT_OWNER}, and no write permission for others unless it is "
            "sticky. Correct it with chown and chmod, or set launch_workdir to another place"
        )


def _make_private(path: str, owners: set[int]) -> None:
    files.make_dir(path)
    status = os.lstat(path)
    if os.path.islink(path) or status.st_uid not in owners:
        raise StartError(f"{path} is a link or belongs to uid {status.st_uid}; Muster does not write there")
    try:
        os.chmod(path, 0o700)
    except PermissionError:  # a shared file system that maps owners, such as CIFS
        if os.geteuid() == 0:
            raise
