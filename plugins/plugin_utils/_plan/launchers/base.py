# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a launcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

# The module of accelerate launch, which `runner/attempt/torchrun.py` calls instead of starting it as a rank.
ACCELERATE = "accelerate.commands.launch"


@frozen
class Program:
    """What the ranks run: the path of a script, the name of a module or a program, and its arguments."""

    kind: Literal["script", "module"]
    name: str
    arguments: tuple[str, ...]


@frozen
class Start:
    """One node's part of a run, as far as a launcher needs it.

    wrapper is what stands in front of a rank's command, options are the user's for the launcher.
    """

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
    wrapper: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    has_gpu: bool = True


@frozen
class Command:
    """What the runner executes, and the launcher's environment variables: name -> (value, reason).

    A variable of the defaults gives way to any other origin.
    """

    argv: list[str]
    environment: Mapping[str, tuple[str, str]]
    defaults: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def python_command(start: Start, *options: str) -> list[str]:
    """Return the command line that runs the program with the interpreter of the training."""
    flag = ["-m"] if start.program.kind == "module" else []
    return [start.python, *options, *flag, start.program.name, *start.program.arguments]
