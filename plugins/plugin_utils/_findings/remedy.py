# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies: sentences, with the commands in them. Those that several files need are in the table below."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterable, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen


class Option(enum.Enum):
    """What a remedy leaves open until it is shown; the value is what a launch calls it."""

    MODE_TCP = "choose -e mode=tcp"
    CHANNELS = "set both with -e channels=N"
    ENV = "launch_env"
    NODE_ENV = "launch_node_env"
    HEAD_ADDRESS = "launch_head_address"
    CALL = "ansible-playbook"  # with the options of the command that is answered
    NODES = "nodes"  # those that the finding is about: findings that differ in nothing else are shown as one


@frozen
class CopyableCommand:
    """A command in a remedy: a page shows it so that it can be copied."""

    parts: tuple[str | Option, ...]


@frozen
class Piece:
    """A piece of a remedy as it is shown."""

    text: str
    is_command: bool = False


@frozen
class Remedy:
    """A sentence in parts; its text is made where it is shown."""

    parts: tuple[str | Option | CopyableCommand, ...]

    def pieces(self, names: Mapping[Option, str]) -> list[Piece]:
        """Return the sentence with these names for options; an option without one has its name in a launch."""
        return [
            Piece(_joined(part.parts, names), True)
            if isinstance(part, CopyableCommand)
            else Piece(_joined((part,), names))
            for part in self.parts
        ]

    def text(self, names: Mapping[Option, str]) -> str:
        """Return the sentence in one piece."""
        return "".join(piece.text for piece in self.pieces(names))

    def __str__(self) -> str:
        return self.text({})


def _joined(parts: Iterable[str | Option], names: Mapping[Option, str]) -> str:
    return "".join(names.get(part, part.value) if isinstance(part, Option) else part for part in parts)


def sentence(*parts: str | Option | CopyableCommand | Remedy) -> Remedy:
    """Return a remedy of these parts; the parts of a remedy become parts of this one."""
    flat = [part.parts if isinstance(part, Remedy) else (part,) for part in parts]
    return Remedy(tuple(part for group in flat for part in group))


def playbook(verb: str, *arguments: str) -> Remedy:
    """Return the command of a playbook, whose call `Invocation.fill` knows."""
    return Remedy((CopyableCommand((Option.CALL, f" {shlex.join([f'muster.train.{verb}', *arguments])}")),))


def correct(variable: str) -> str:
    return f"correct {variable} where it is set, with -e or in the inventory"


CODE = ("setup", "--tags", "code")
DELETE = (*CODE, "-e", "code_rsync_delete=true")
NODE_WARNINGS = "look at the warnings of node_facts for this node (-vv shows the commands)"
SAME_STATE = "make the nodes agree, or remove this one from the group nodes"
RESET_GPU = "reset the GPU (nvidia-smi --gpu-reset -i N) or restart the node; if it happens again, replace the GPU"
NVLINK = "look at nvidia-smi nvlink -s, the fabric manager's log, and dmesg (Xid 74); reset or replace the GPU"
CABLE = "look at cable, transceiver, switch port and, on InfiniBand, the subnet manager (ibstat, mlxlink)"
HARD_LIMIT = "raise the hard limit in /etc/security/limits.d"
