# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory says of checks: levels, profile, thresholds.

What is no such thing is a finding: a level that was mistyped must not leave a check as it was without a word.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from .._findings.errors import display
from .._findings.finding import Finding
from . import rdma
from .check import LEVELS
from .model import Level
from .properties import PROPERTIES
from .registry import NAMES
from .thresholds import NAMES as thresholds_NAMES
from .thresholds import Thresholds

LEVELS_VARIABLE, PROFILE_VARIABLE = "preflight_levels", "preflight_expected"
PROFILE_KEYS = tuple(
    dict.fromkeys([*(each.key for each in PROPERTIES), *rdma.PROFILE_KEYS, "memlock", "commit", "branch"])
)


VARIABLES = (LEVELS_VARIABLE, PROFILE_VARIABLE, *(f"preflight_{name}" for name in thresholds_NAMES))


@dataclasses.dataclass(frozen=True)
class CheckPolicy:
    """What the inventory says of checks: levels by name, what to expect of every node, and thresholds."""

    levels: Mapping[str, Level] = dataclasses.field(default_factory=dict)
    expected: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    thresholds: Thresholds = dataclasses.field(default_factory=Thresholds)

    @classmethod
    def read(cls, variables: Mapping[str, Any]) -> tuple[CheckPolicy, list[Finding]]:
        """Read the variables preflight_*; what is no such thing is a finding."""
        of_levels, refused = levels(variables.get(LEVELS_VARIABLE) or {})
        expected, unknown = profile(variables.get(PROFILE_VARIABLE) or {})
        given = {name: variables[f"preflight_{name}"] for name in thresholds_NAMES if f"preflight_{name}" in variables}
        limits, no_numbers = thresholds(given)
        return cls(of_levels, expected, limits), [*refused, *unknown, *no_numbers]


BY_DEFAULT = CheckPolicy()


def levels(given: Any) -> tuple[dict[str, Level], list[Finding]]:
    """Read preflight_levels: names of checks, with blanks or underscores, and their levels."""
    found: dict[str, Level] = {}
    if not isinstance(given, Mapping):
        return found, [_refused(LEVELS_VARIABLE, f"it is {display(given)}", "a mapping of checks to levels")]
    refused = []
    for key, value in given.items():
        name = str(key).replace("_", " ")
        # YAML reads a bare off as false.
        level = "off" if value is False else str(value)
        if name not in NAMES:
            refused.append(
                _refused(
                    LEVELS_VARIABLE,
                    f"there is no check {display(key)}{_near(name, NAMES)}",
                    f"one of {', '.join(NAMES)}",
                )
            )
        elif level not in LEVELS:
            refused.append(
                _refused(LEVELS_VARIABLE, f"the level of {name} is {display(value)}", f"one of {', '.join(LEVELS)}")
            )
        else:
            found[name] = next(each for each in LEVELS if each == level)
    return found, refused


def profile(given: Any) -> tuple[dict[str, Any], list[Finding]]:
    """Read preflight_expected: what the cluster's owner knows of every node."""
    if not isinstance(given, Mapping):
        return {}, [_refused(PROFILE_VARIABLE, f"it is {display(given)}", "a mapping")]
    refused = [
        _refused(
            PROFILE_VARIABLE,
            f"{display(key)} is nothing to expect{_near(str(key), PROFILE_KEYS)}",
            f"one of {', '.join(PROFILE_KEYS)}",
        )
        for key in given
        if key not in PROFILE_KEYS
    ]
    return {str(key): value for key, value in given.items() if key in PROFILE_KEYS and value is not None}, refused


def thresholds(given: Mapping[str, Any]) -> tuple[Thresholds, list[Finding]]:
    """Read the variables preflight_NAME of thresholds by NAME."""
    good, refused = {}, []
    for name, value in given.items():
        try:
            number = float(value)
        except (OverflowError, TypeError, ValueError):
            number = math.nan
        # With nan nothing is ever above or below.
        if math.isfinite(number):
            good[name] = number
        else:
            refused.append(_refused(f"preflight_{name}", f"it is {display(value)}", "a number"))
    return Thresholds(good), refused


def _near(word: str, known: Iterable[str]) -> str:
    guess = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {guess[0]!r}?" if guess else ""


def _refused(variable: str, observed: str, expected: str) -> Finding:
    return Finding(
        variable,
        None,
        "fail",
        observed,
        expected,
        "variables of the first node",
        f"correct {variable} in the inventory",
    )
