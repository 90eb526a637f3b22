# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory expects of each stage: `launch_acceptance`. A threshold names its source, or it is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import Record

from ..._findings.errors import display
from ..._findings.finding import Finding, PlanError
from ..._findings.remedy import correct
from ..._request.parameters import expected, read
from ..._request.verbs import VERBS
from ..._text.nearest import nearest

VARIABLE = "launch_acceptance"
PREFLIGHT, PAIRS = "preflight", "pairs"
# The scope of the benchmark of each stage that is one.
SCOPES = {"intra": "nodes", "rails": "rails", "all": "all"}
STAGES = (PREFLIGHT, *SCOPES, PAIRS)
LIMITS = {"busbw_gb_per_s": 1e6, "of_limit": 2.0}  # with SHARP, a sum can pass the limit
KEYS = (*LIMITS, "max_bytes", "source")
SIZE = next(parameter for parameter in VERBS["benchmark"] if parameter.name == "max_bytes")


@frozen
class StageThreshold(Record):
    """The least of a stage: a bus bandwidth, a part of the limit, or both; max_bytes is the largest size measured."""

    source: str
    busbw_gb_per_s: float | None = None
    of_limit: float | None = None
    max_bytes: int | None = None


def read_profile(raw: object) -> dict[str, StageThreshold]:
    """Return the thresholds of the stages that have one; raise PlanError with all that is wrong."""
    if not isinstance(raw, Mapping):
        raise PlanError([_refuse(f"it is {display(raw)}", "a mapping of stages to what is expected of them")])
    refused: list[Finding] = []
    thresholds = {}
    for stage, values in raw.items():
        if stage not in SCOPES:
            refused.append(_unknown("there is no stage", stage, SCOPES))
        elif mistakes := list(_mistakes(stage, values)):
            refused += mistakes
        else:
            busbw, part = (float(values[name]) if name in values else None for name in LIMITS)
            size = int(str(read(SIZE, values["max_bytes"]))) if "max_bytes" in values else None
            thresholds[str(stage)] = StageThreshold(str(values["source"]).strip(), busbw, part, size)
    if refused:
        raise PlanError(refused)
    return thresholds


def _mistakes(stage: str, values: Any) -> Iterator[Finding]:
    """Yield what is wrong with a stage of the profile."""
    if not isinstance(values, Mapping):
        yield _refuse(f"{stage} is {display(values)}", f"a mapping of {', '.join(KEYS)}")
        return
    for name in values:
        if name not in KEYS:
            yield _unknown(f"{stage} has no", name, KEYS)
    if not str(values.get("source") or "").strip():
        yield _refuse(f"{stage} has no source", "who published the figure, or who decided on it")
    if not any(name in values for name in LIMITS):
        yield _refuse(f"{stage} has no figure", " or ".join(LIMITS))
    for name, most in LIMITS.items():
        if name in values and not 0 < _number(values[name]) <= most:
            yield _refuse(f"{stage}.{name} is {display(values[name])}", f"a number above 0 and at most {most:g}")
    try:
        read(SIZE, values.get("max_bytes", "1G"))
    except ValueError:
        yield _refuse(f"{stage}.max_bytes is {display(values['max_bytes'])}", expected(SIZE))


def _number(value: object) -> float:
    """Return a number, nan for what is none: nan is within no range."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _unknown(what: str, name: object, known: Iterable[str]) -> Finding:
    guess = nearest(str(name), known, 0.6)
    hint = f"; did you mean {guess!r}?" if guess else ""
    return _refuse(f"{what} {display(name)}{hint}", f"one of {', '.join(known)}")


def _refuse(observed: str, wanted: str) -> Finding:
    return Finding(VARIABLE, None, "fail", observed, wanted, "variables of the first node", correct(VARIABLE))
