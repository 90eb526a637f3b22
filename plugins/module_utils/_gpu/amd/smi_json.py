# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON of AMD's tools, which may have warnings in front of it, commas too many, and lines of dots."""

from __future__ import annotations

import json
import re
from typing import Any

# The line where JSON begins; `[WARNING] …` is none
_BEGIN = re.compile(r"[\[{][ \t]*(?:$|[\[{\]}\"])")


def parse_tool_json(text: str) -> tuple[Any, bool]:
    """Return the value, None where there is none, and whether it was JSON as it is."""
    lines = [line.strip() for line in text.splitlines()]
    begin = next((index for index, line in enumerate(lines) if _BEGIN.match(line)), len(lines))
    data = _load(lines[begin:])
    return (data, True) if data is not None else (_load(_completed(lines[begin:])), False)


def parse_gpus(text: str) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """Return the objects of amd-smi's GPUs with their numbers, and whether it was JSON as it is."""
    data, valid = parse_tool_json(text)
    if isinstance(data, dict):
        data = data.get("gpu_data")
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    return [(entry["gpu"], entry) for entry in entries if is_number(entry.get("gpu"))], valid


def is_number(value: Any) -> bool:
    """Return whether a value can be the number of a GPU."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10000


def _load(lines: list[str]) -> Any:
    try:
        return json.JSONDecoder().raw_decode("\n".join(lines))[0]
    except (ValueError, RecursionError):
        return None


def _completed(lines: list[str]) -> list[str]:
    """Return the lines without those of dots, and without the commas that stand before a closing bracket."""
    rest = [line for line in lines if line not in ("", "...", "...,")]
    return [
        line.rstrip(",") if following.startswith(("]", "}")) else line for line, following in zip(rest, [*rest[1:], ""])
    ]
