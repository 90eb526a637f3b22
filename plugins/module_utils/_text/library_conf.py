# SPDX-License-Identifier: GPL-3.0-or-later
"""Files such as /etc/nccl.conf, as NCCL and RCCL read them (setEnvFile in src/misc/param.cc)."""

from __future__ import annotations


def parse_lines(text: str) -> dict[str, str]:
    """Return what the lines NAME=value set, of which nothing is trimmed; of one name the first."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals:
            values.setdefault(name, value)
    return values
