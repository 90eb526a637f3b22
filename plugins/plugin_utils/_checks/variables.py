# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the variables preflight_*. Unknown names are refused: a mistyped level must not silently leave a check on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from .._findings.errors import display
from .._findings.finding import Finding
from .._findings.remedy import correct
from .._request.memory_limit import EXPECTED, parse_limit
from .._text.nearest import nearest
from . import rdma
from .policy import ALLOWED_PROCESSES, LEVELS, PROFILE, THRESHOLDS, CheckPolicy, Level
from .properties import MEMLOCK, PROPERTIES
from .registry import NAMES

LEVELS_VARIABLE, ALLOWED_VARIABLE = "preflight_levels", "preflight_allowed_processes"
_THRESHOLDS = {f"preflight_{threshold.name}": threshold.name for threshold in THRESHOLDS}
VARIABLES = (LEVELS_VARIABLE, PROFILE, ALLOWED_VARIABLE, *_THRESHOLDS)
PROFILE_KEYS = tuple(
    dict.fromkeys([*(item.key for item in PROPERTIES), *rdma.PROFILE_KEYS, MEMLOCK.key, "commit", "branch"])
)


def read_checks(variables: Mapping[str, Any]) -> tuple[CheckPolicy, list[Finding]]:
    """Return the checks' policy, and a finding for each name or value that is refused."""
    refused: list[Finding] = []
    policy = CheckPolicy(
        _levels(variables.get(LEVELS_VARIABLE) or {}, refused),
        _profile(variables.get(PROFILE) or {}, refused),
        _thresholds(variables, refused),
        tuple(map(str, variables.get(ALLOWED_VARIABLE, ALLOWED_PROCESSES) or ())),
    )
    return policy, refused


def _levels(raw: Any, refused: list[Finding]) -> dict[str, Level]:
    """Read names of checks, with spaces or underscores, and their levels."""
    result: dict[str, Level] = {}
    if not isinstance(raw, Mapping):
        refused.append(_refusal(LEVELS_VARIABLE, f"it is {display(raw)}", "a mapping of checks to levels"))
        return result
    for key, value in raw.items():
        name = str(key).replace("_", " ")
        # YAML reads a bare off as false.
        level = next((level for level in LEVELS if level == ("off" if value is False else str(value))), None)
        if name not in NAMES:
            refused.append(_unknown(LEVELS_VARIABLE, "check", key, name, NAMES))
        elif level is None:
            observed = f"the level of {name} is {display(value)}"
            refused.append(_refusal(LEVELS_VARIABLE, observed, f"one of {', '.join(LEVELS)}"))
        else:
            result[name] = level
    return result


def _profile(raw: Any, refused: list[Finding]) -> dict[str, Any]:
    """Read what the cluster's owner expects of every node."""
    if not isinstance(raw, Mapping):
        refused.append(_refusal(PROFILE, f"it is {display(raw)}", "a mapping"))
        return {}
    refused += [_unknown(PROFILE, "property", key, str(key), PROFILE_KEYS) for key in raw if key not in PROFILE_KEYS]
    profile = {str(key): value for key, value in raw.items() if key in PROFILE_KEYS and value is not None}
    if MEMLOCK.key in profile:
        value = profile.pop(MEMLOCK.key)
        try:
            profile[MEMLOCK.key] = parse_limit(value)
        except ValueError:
            refused.append(_refusal(PROFILE, f"{MEMLOCK.key} is {display(value)}", EXPECTED))
    return profile


def _thresholds(variables: Mapping[str, Any], refused: list[Finding]) -> dict[str, float]:
    result = {}
    for variable, name in _THRESHOLDS.items():
        if variable not in variables:
            continue
        try:
            number = float(variables[variable])
        except (OverflowError, TypeError, ValueError):
            number = math.nan
        # Nothing is ever above or below nan.
        if math.isfinite(number):
            result[name] = number
        else:
            refused.append(_refusal(variable, f"it is {display(variables[variable])}", "a number"))
    return result


def _unknown(variable: str, kind: str, key: Any, name: str, known: Collection[str]) -> Finding:
    guess = nearest(name, known, 0.6)
    hint = f"; did you mean {guess!r}?" if guess else ""
    return _refusal(variable, f"there is no {kind} {display(key)}{hint}", f"one of {', '.join(known)}")


def _refusal(variable: str, observed: str, expected: str) -> Finding:
    return Finding(variable, None, "fail", observed, expected, "variables of the first node", correct(variable))
