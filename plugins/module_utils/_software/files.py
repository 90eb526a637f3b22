# SPDX-License-Identifier: GPL-3.0-or-later
"""The files, the configuration and the interpreter of a launch."""

from __future__ import annotations

import os
from typing import Callable

from .._host.host import Host
from .._records.node import Config, File, TrainingPython

CONFIG_LIMIT = 256 * 1024
# Scripts and configurations are small; a data set is not read at every launch.
HASH_LIMIT = 64 * 1024 * 1024
# Of the files beside one that does not exist.
BESIDE = 50


def locate(host: Host, code_dir: str, name: str) -> str:
    """Return the path of a file: ~ and $VARIABLES are replaced, a relative path is below the code."""
    path = os.path.join(code_dir, host.expand(name))
    return path if ".." in path.split("/") else os.path.normpath(path)


def read_file(host: Host, path: str) -> File:
    """Return the facts of a file."""
    size = host.size(path) if host.is_file(path) else None
    readable = size is not None and host.allows(path, os.R_OK)
    digest = host.sha256(path) if readable and size is not None and size <= HASH_LIMIT else None
    exists = host.exists(path)
    return File(path, exists, readable, digest, [] if exists else _files_beside(host, path))


def _files_beside(host: Host, path: str) -> list[str]:
    folder, name = os.path.split(path)
    ending = os.path.splitext(name)[1]
    names = host.list_dir(folder) or () if ending else ()
    return [other for other in names if os.path.splitext(other)[1] == ending][:BESIDE]


def read_config(host: Host, path: str, warn: Callable[[str], None]) -> Config:
    """Return the complete configuration, or none of its text: a part could mean something else."""
    data = host.read_bytes(path, CONFIG_LIMIT + 1) if host.is_file(path) else None
    if data is None:
        return Config(path, None)
    if len(data) > CONFIG_LIMIT:
        warn(f"config {path}: is larger than {CONFIG_LIMIT // 1024} KiB")
        return Config(path, None)
    try:
        return Config(path, data.decode("utf-8"))
    except UnicodeDecodeError:
        warn(f"config {path}: is not UTF-8")
        return Config(path, None)


def find_python(host: Host, code_dir: str, command: str) -> TrainingPython:
    """Return the interpreter that a shell in the code's directory would find.

    Links are kept, because an interpreter finds its virtual environment by its path.
    """
    expanded = host.expand(command)
    return TrainingPython(command, host.which(locate(host, code_dir, expanded) if "/" in expanded else expanded))
