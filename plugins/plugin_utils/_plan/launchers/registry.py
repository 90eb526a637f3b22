# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers: what starts a node's ranks. A new one is a file here and a name below."""

from __future__ import annotations

from collections.abc import Callable

from ..._cluster.script import EXEC
from . import accelerate, deepspeed, program, python, torchrun
from .base import Command, Start

LAUNCHERS: dict[str, Callable[[Start], Command]] = {
    "torchrun": torchrun.command,
    "accelerate": accelerate.command,
    "deepspeed": deepspeed.command,
    "python": python.command,
    EXEC: program.command,
}
