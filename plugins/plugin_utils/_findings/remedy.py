# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies: sentences in which options have the name that the caller's door gives them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping


class Option(enum.Enum):
    """What a remedy tells the user to set; the value is what a launch calls it."""

    MODE_TCP = "choose -e mode=tcp"
    CHANNELS = "set both with -e channels=N"
    ENV = "launch_env"
    NODE_ENV = "launch_node_env"
    HEAD_ADDRESS = "launch_head_address"


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A sentence in parts; its text is made where it is shown."""

    parts: tuple[str | Option, ...]

    def text(self, names: Mapping[Option, str]) -> str:
        """Return the sentence with these names for options; what is not named here is called as in a launch."""
        return "".join(names.get(part, part.value) if isinstance(part, Option) else part for part in self.parts)

    def __str__(self) -> str:
        return self.text({})


def sentence(*parts: str | Option) -> Remedy:
    """Return a remedy of these parts."""
    return Remedy(parts)
