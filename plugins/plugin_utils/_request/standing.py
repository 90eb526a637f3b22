# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch sets that is given nothing: the environment's part of launch_defaults.

For verbs and roles that tell what a launch would set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._findings.finding import Finding
from .settings import CLUSTER, DEFAULT, settle

NAMES = ("mode", "channels", "threads", "env")


def standing(defaults: Any, mode: dict[str, Any] | None = None) -> tuple[dict[str, dict[str, Any]], list[Finding]]:
    """Read mode, channels, threads and env: {value, origin} of each, and what of them a launch would refuse.

    mode is the verb's own, which wins where it was given.
    """
    lines: list[str] = []
    # The rest is a program's, which a launch checks.
    kept = {name: defaults[name] for name in NAMES if name in defaults} if isinstance(defaults, Mapping) else defaults
    settings = settle("launch", {}, {}, kept, lines)
    built_in = {"mode": "auto", "env": {}}
    found = {
        name: dict(settings[name]) if name in settings else {"value": built_in.get(name), "origin": DEFAULT}
        for name in NAMES
    }
    if mode is not None and mode["origin"] != DEFAULT:
        found["mode"] = mode
    return found, [_refused(line) for line in lines]


def _refused(line: str) -> Finding:
    check, _colon, observed = line.partition(": ")
    return Finding(
        check=check,
        node=None,
        status="fail",
        observed=observed.removesuffix(f" ({CLUSTER})"),
        expected="",
        source=CLUSTER,
        remedy="correct it there",
    )
