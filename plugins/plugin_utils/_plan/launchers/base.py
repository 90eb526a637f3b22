# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a launcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Program:
    """What the ranks run: an absolute path or a module's name, and its arguments."""

    kind: Literal["script", "module"]
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """One node's part of a run, as far as a launcher needs it."""

    run_id: str
    run_dir: str
    python: str
    program: Program
    nnodes: int
    nproc: int
    node_rank: int
    first_rank: int
    world_size: int
    address: str
    port: int


@dataclass(frozen=True)
class Command:
    """What the runner executes, and the launcher's environment variables: name -> (value, reason)."""

    argv: list[str]
    environment: Mapping[str, tuple[str, str]]
