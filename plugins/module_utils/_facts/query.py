# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task asks a node for."""

from __future__ import annotations

from .._records.frozen import frozen
from .._records.subsets import SUBSETS


@frozen
class FactsQuery:
    """What to gather: paths, names and subsets; relative files are below code_dir."""

    workdir: str
    code_dir: str
    node: str | None = None
    python: str = "python3"
    python_path: str | None = None
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
    compose_file: str | None = None
    compose_service: str = "train"
    profiler: str | None = None
    script: str | None = None
    image: str | None = None
    apptainer: tuple[str, ...] = ("apptainer",)
    apptainer_options: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    as_root: tuple[str, ...] = ()
    probe_disks: bool = False
    probe_locks: bool = False
