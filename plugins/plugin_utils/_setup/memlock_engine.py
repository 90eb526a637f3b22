# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's default limit in its daemon.json, a file that Muster does not own.

The value before and the value written are kept in a second file: only a value that is still as written is removed
again, and the one before is restored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ENGINE_FILE = "/etc/docker/daemon.json"
MEMORY_FILE = "/etc/docker/muster-memlock.json"
LIMITS, MEMLOCK = "default-ulimits", "memlock"


def _config(text: str | None) -> dict[str, Any]:
    """Return daemon.json. Raise ValueError for invalid content, which must not be overwritten."""
    try:
        config = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise ValueError(f"{ENGINE_FILE} is not JSON ({error}); fix it, the engine does not start with it") from error
    if not isinstance(config, dict) or not isinstance(config.get(LIMITS, {}), dict):
        raise ValueError(f"{ENGINE_FILE}: expected an object in which {LIMITS} is an object")
    return config


def merge_engine(text: str | None, limit: Any) -> str | None:
    """Return daemon.json with this memlock (None: without one), unchanged if it has it already.

    The result is None if no file is needed. Raise ValueError for invalid content.
    """
    config = _config(text)
    limits = {name: value for name, value in config.get(LIMITS, {}).items() if name != MEMLOCK}
    merged = {name: value for name, value in config.items() if name != LIMITS}
    if limits or limit is not None:
        merged[LIMITS] = {**limits, **({} if limit is None else {MEMLOCK: limit})}
    if merged == config:
        return text
    return json.dumps(merged, indent=2) + "\n" if merged else None


def _memory(text: str | None) -> dict[str, Any]:
    """Return what was written and what was there before; nothing if that is unknown."""
    try:
        memory = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return memory if isinstance(memory, dict) and isinstance(memory.get("wrote"), dict) else {}


def engine_files(files: Mapping[str, str | None], target: int | None) -> tuple[dict[str, str | None], list[str]]:
    """Return the files as they should be (None: absent), in the order to write them, and what stays, as text."""
    text, kept = files.get(ENGINE_FILE), files.get(MEMORY_FILE)
    memory = _memory(kept)
    current = _config(text).get(LIMITS, {}).get(MEMLOCK)
    is_own_value = current is not None and current == memory.get("wrote")
    if target is not None:
        limit = {"Name": "memlock", "Hard": target, "Soft": target}
        if current != limit:
            before = memory.get("before") if is_own_value else current
            kept = json.dumps({"wrote": limit, "before": before}, indent=2) + "\n"
        return {MEMORY_FILE: kept, ENGINE_FILE: merge_engine(text, limit)}, []
    # The memory goes last, so that an interrupted removal can be repeated.
    if is_own_value or current is None:
        return {ENGINE_FILE: merge_engine(text, memory.get("before")) if is_own_value else text, MEMORY_FILE: None}, []
    why = "it was changed after this role wrote it" if memory else f"no {MEMORY_FILE} says that this role wrote it"
    remark = f"{LIMITS}.{MEMLOCK} in {ENGINE_FILE} stays, because {why}: remove it by hand if necessary"
    return {ENGINE_FILE: text, MEMORY_FILE: None}, [remark]
