# SPDX-License-Identifier: GPL-3.0-or-later
"""The placeholders of a launch: {run_dir} in an argument or a variable stands for each node's run directory.

A placeholder is a name in one pair of braces. {{name}} is the text {name}. All else stays as it is: other braces, such
as those of JSON and of {step:08d}, and ${name}, which belongs to the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMES = ("run_dir", "output_dir", "run_id", "node_rank", "nnodes", "master_addr")
_NAME = r"([A-Za-z_][A-Za-z0-9_]*)"
_PLACEHOLDER = re.compile(rf"\{{\{{{_NAME}\}}\}}|(?<!\$)\{{{_NAME}\}}")


def unknown_names(text: str) -> list[str]:
    """Return the names in braces that are not placeholders, each once."""
    names = (match[2] for match in _PLACEHOLDER.finditer(text))
    return list(dict.fromkeys(name for name in names if name and name not in NAMES))


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders by their values, in which nothing is replaced; an unknown one stays."""

    def value_of(match: re.Match[str]) -> str:
        return f"{{{match[1]}}}" if match[1] else values.get(match[2], match[0])

    return _PLACEHOLDER.sub(value_of, text)
