# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's lists of hosts, expanded as `scontrol show hostnames` does, which needs a configuration of Slurm for it."""

from __future__ import annotations

import re

from .._findings.errors import UserError, display
from .._request.host_list import PART, expand


def expand_host_list(text: str) -> list[str]:
    """Return the names of a list such as `gpu[01-03,7],login1` in its order, which is that of SLURM_NODEID."""
    if "," in (text[:1], text[-1:]) or ",," in text:
        raise UserError(f"{display(text)} has an empty entry; expected a list as Slurm prints it, such as gpu[01-16]")
    if re.search(r"\][^][,]+(?:,|$)", text):
        raise UserError(
            f"{display(text)} has text after a bracket; expected a list as Slurm prints it, such as gpu[01-16]"
        )
    try:
        names = [name for part in PART.findall(text) for name in expand(part)]
    except ValueError as error:
        raise UserError(f"{error}; expected a list as Slurm prints it, such as gpu[01-16]") from None
    if not names:
        raise UserError("the list of nodes is empty; expected a list as Slurm prints it, such as gpu[01-16]")
    return names
