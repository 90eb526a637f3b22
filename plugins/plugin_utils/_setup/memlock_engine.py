# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's default limit in its daemon.json: one value of ours in a file of somebody else's.

What was there before, and what was written instead, is kept in a file of our own: only what is still as it was written
is taken away again, and what it replaced comes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ENGINE_FILE = "/etc/docker/daemon.json"
MEMORY_FILE = "/etc/docker/muster-memlock.json"
LIMITS, MEMLOCK = "default-ulimits", "memlock"


def _config(text: str | None) -> dict[str, Any]:
    """Return daemon.json. Raise ValueError for a file that is not understood, which nobody may overwrite."""
    try:
        config = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise ValueError(f"{ENGINE_FILE} is not JSON ({error}); mend it, the engine does not start with it") from error
    if not isinstance(config, dict) or not isinstance(config.get(LIMITS, {}), dict):
        raise ValueError(f"{ENGINE_FILE}: expected an object, and in it {LIMITS} as an object")
    return config


def merge_engine(text: str | None, limit: Any) -> str | None:
    """Return daemon.json with this memlock (None: without); the text as it is where it says so already.

    None: there need be no file. Raises ValueError for a file that is not understood.
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
    """Return what was written and what was there before; nothing where there is no such memory."""
    try:
        memory = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return memory if isinstance(memory, dict) and isinstance(memory.get("wrote"), dict) else {}


def engine_files(files: Mapping[str, str | None], wanted: int | None) -> tuple[dict[str, str | None], list[str]]:
    """Return the files as they should be (None: absent), in the order to write them, and what stays, in words."""
    text, kept = files.get(ENGINE_FILE), files.get(MEMORY_FILE)
    memory = _memory(kept)
    there = _config(text).get(LIMITS, {}).get(MEMLOCK)
    ours = there is not None and there == memory.get("wrote")
    if wanted is not None:
        limit = {"Name": "memlock", "Hard": wanted, "Soft": wanted}
        if there != limit:
            before = memory.get("before") if ours else there
            kept = json.dumps({"wrote": limit, "before": before}, indent=2) + "\n"
        return {MEMORY_FILE: kept, ENGINE_FILE: merge_engine(text, limit)}, []
    # The memory goes last: whoever is interrupted can begin anew.
    if ours or there is None:
        return {ENGINE_FILE: merge_engine(text, memory.get("before")) if ours else text, MEMORY_FILE: None}, []
    why = "it was changed since this role wrote it" if memory else f"no {MEMORY_FILE} says that this role wrote it"
    stays = f"{LIMITS}.{MEMLOCK} in {ENGINE_FILE} stays, because {why}: take it away by hand if it is not wanted"
    return {ENGINE_FILE: text, MEMORY_FILE: None}, [stays]
