# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch without parameters sets: the environment's part of launch_defaults.

For verbs and roles that show what a launch would set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._findings.finding import Finding
from .._findings.origin import DEFAULT, LAUNCH_DEFAULTS, Layer
from .settings import Refusal, resolve_parameters, setting_of

NAMES = ("mode", "channels", "threads", "env")


def standing(
    defaults: Any, mode: Mapping[str, Any] | None = None
) -> tuple[dict[str, Mapping[str, Any]], list[Finding]]:
    """Read the settings of mode, channels, threads and env, and find those that a launch would refuse.

    mode is the verb's setting, which wins where it was given.
    """
    refusals: list[Refusal] = []
    # The other defaults are the program's, which a launch checks.
    kept = {name: defaults[name] for name in NAMES if name in defaults} if isinstance(defaults, Mapping) else defaults
    settings = resolve_parameters("launch", {}, {}, kept, refusals)
    built_in: dict[str, Any] = {"mode": "auto", "env": {}}
    result: dict[str, Mapping[str, Any]] = {
        name: settings.get(name) or setting_of(built_in.get(name), DEFAULT) for name in NAMES
    }
    if mode is not None and mode["layer"] != Layer.DEFAULT:
        result["mode"] = mode
    source, remedy = LAUNCH_DEFAULTS.label, "correct it there"
    return result, [Finding(r.name, None, "fail", r.problem, "", source, remedy) for r in refusals]
