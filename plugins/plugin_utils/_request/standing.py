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
from .._findings.origin import DEFAULT, LAUNCH_DEFAULTS, Layer
from .settings import Refusal, setting_of, settle

NAMES = ("mode", "channels", "threads", "env")


def standing(
    defaults: Any, mode: Mapping[str, Any] | None = None
) -> tuple[dict[str, Mapping[str, Any]], list[Finding]]:
    """Read the settings of mode, channels, threads and env, and what of them a launch would refuse.

    mode is the verb's own, which wins where it was given.
    """
    refusals: list[Refusal] = []
    # The rest is a program's, which a launch checks.
    kept = {name: defaults[name] for name in NAMES if name in defaults} if isinstance(defaults, Mapping) else defaults
    settings = settle("launch", {}, {}, kept, refusals)
    built_in: dict[str, Any] = {"mode": "auto", "env": {}}
    defaults_in_use: dict[str, Mapping[str, Any]] = {
        name: settings.get(name) or setting_of(built_in.get(name), DEFAULT) for name in NAMES
    }
    if mode is not None and mode["layer"] != Layer.DEFAULT:
        defaults_in_use["mode"] = mode
    return defaults_in_use, [_refused(refusal) for refusal in refusals]


def _refused(refusal: Refusal) -> Finding:
    return Finding(
        check=refusal.name,
        node=None,
        status="fail",
        observed=refusal.problem,
        expected="",
        source=LAUNCH_DEFAULTS.label,
        remedy="correct it there",
    )
