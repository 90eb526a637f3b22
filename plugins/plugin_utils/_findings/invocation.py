# SPDX-License-Identifier: GPL-3.0-or-later
"""How the user called Ansible, and the commands that a remedy offers with the same options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .remedy import CopyableCommand, Option, Remedy


@frozen
class Invocation:
    """call is how ansible-playbook has to be called; options are those of it by which Ansible reaches the nodes."""

    call: str = Option.CALL.value
    options: Sequence[str] = ()

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Invocation:
        return cls(request.get("call") or Option.CALL.value, tuple(request.get("options") or ()))

    def playbook(self, verb: str, *arguments: str) -> str:
        """Return the command of a playbook."""
        return clean(f"{self.call} {shlex.join([f'muster.train.{verb}', *arguments])}")

    def command(self, verb: str, *arguments: str) -> CopyableCommand:
        """Return the command of a playbook as a part of a remedy."""
        return CopyableCommand((self.playbook(verb, *arguments),))

    def on_nodes(self, argv: Sequence[str]) -> Remedy:
        """Return the ad-hoc command that runs a command on the nodes."""
        words = [*self.options, "-m", "ansible.builtin.command", "-a", shlex.join(argv)]
        return Remedy((CopyableCommand(("ansible ", Option.NODES, f" {shlex.join(words)}")),))

    def fill(self, remedy: Remedy | str) -> Remedy | str:
        """Return a remedy that was written before the call was known, with the call in it."""
        if isinstance(remedy, str):
            return remedy
        return Remedy(
            tuple(
                CopyableCommand(tuple(map(self._filled, part.parts)))
                if isinstance(part, CopyableCommand)
                else self._filled(part)
                for part in remedy.parts
            )
        )

    def _filled(self, part: str | Option) -> str | Option:
        return clean(self.call) if part is Option.CALL else part
