# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks' environment: layers of variables, later wins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._findings.finding import Finding
from .._findings.origin import FOR_ONE_RUN, MUSTER, Origin
from .._request.parameters import Parameter, read

Settings = Mapping[str, Mapping[str, Any]]  # the parameters of a request: name -> Setting

MOST_OMP_THREADS = 16  # beyond it, the threads of one rank's operators gain little and fight its data loader's

_ENVIRONMENT = Parameter("env", "environment")


def variable(name: str, value: str, origin: Origin, reason: str = "", rule: str = "") -> Variable:
    """Return a variable with its origin as plain data."""
    return Variable(name, value, origin.label, reason, rule, origin.layer.value)


def merge(layers: Iterable[Iterable[Variable]]) -> list[Variable]:
    """Lay the layers on each other, in order of the names. What a value replaced is told in its reason."""
    stacks: dict[str, list[Variable]] = {}
    for layer in layers:
        for variable in layer:
            stacks.setdefault(variable.name, []).append(variable)
    return [_top(stacks[name]) for name in sorted(stacks)]


def _top(stack: list[Variable]) -> Variable:
    *below, top = stack
    replaced = ", ".join(f"{variable.value or 'nothing'} from {variable.origin}" for variable in reversed(below))
    reasons = [top.reason, f"instead of {replaced}" if replaced else ""]
    return dataclasses.replace(top, reason="; ".join(reason for reason in reasons if reason))


def of_the_machine(cpus: int, ranks: int) -> list[Variable]:
    """Share the machine's cores among all ranks on it, and let what they print be seen at once."""
    value = max(1, min(MOST_OMP_THREADS, cpus // ranks))
    reason = f"{cpus} cores for {ranks} rank{'' if ranks == 1 else 's'} on the machine, at most {MOST_OMP_THREADS}"
    return [
        variable("OMP_NUM_THREADS", str(value), MUSTER, reason),
        variable("PYTHONUNBUFFERED", "1", MUSTER, "logs show what a rank printed when it printed it"),
    ]


def split(layer: Iterable[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Part what the cluster's defaults say from what was given for this run: a node's policy lies between them."""
    variables = list(layer)
    return (
        [variable for variable in variables if variable.layer not in FOR_ONE_RUN],
        [variable for variable in variables if variable.layer in FOR_ONE_RUN],
    )


def user_layer(values: Any, origin: Origin, node: str | None) -> tuple[list[Variable], list[Finding]]:
    """Read what a user set; everything that cannot be a rank's variable is a finding of its own."""
    if not isinstance(values, Mapping):
        return [], [_refused(f"expected a mapping of names to values, saw {type(values).__name__}", origin, node)]
    layer, findings = [], []
    for name, value in values.items():
        try:
            read(_ENVIRONMENT, {name: value})
        except ValueError as error:
            findings.append(_refused(str(error), origin, node))
        else:
            layer.append(variable(name, str(value), origin))
    return layer, findings


def _refused(error: str, origin: Origin, node: str | None) -> Finding:
    return Finding(
        check="environment",
        node=node,
        status="fail",
        observed=error,
        expected="",
        source=origin.label,
        remedy="correct it there",
    )
