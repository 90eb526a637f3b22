# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch wants to know of a node."""

from __future__ import annotations

from dataclasses import dataclass

from .._records.subsets import SUBSETS


@dataclass(frozen=True)
class FactsQuery:
    """The paths, names and parts that are asked for; relative files are below code_dir."""

    workdir: str
    code_dir: str
    python: str = "python3"
    files: tuple[str, ...] = ()
    config: str | None = None
    data_dirs: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    slot: str = "default"
    subset: tuple[str, ...] = SUBSETS
    asked_at: float | None = None
    names: tuple[str, ...] = ()
    docker: tuple[str, ...] = ("docker",)
    images: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    as_root: tuple[str, ...] = ()
    probe_disks: bool = False
