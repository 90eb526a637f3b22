# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks' environment: layers of variables, where later ones win."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import display
from .._findings.finding import Finding
from .._findings.origin import MUSTER, Origin
from .._request.parameters import Parameter, read

Settings = Mapping[str, Mapping[str, Any]]  # the parameters of a request: name -> Setting

MOST_OMP_THREADS = 16  # more threads gain little and compete with the data loader's

CORRECT = "correct it there"
PRINTABLE = "no control characters, such as the ends of lines from Windows"

_ENVIRONMENT = Parameter("env", "environment", expanded=True)
_INHERITED = Parameter("env", "environment")


def variable(name: str, value: str, origin: Origin, reason: str = "", rule: str = "") -> Variable:
    """Return a variable with its origin as plain data."""
    return Variable(name, value, origin.label, reason, rule, origin.layer.value)


def merge(layers: Iterable[Iterable[Variable]]) -> list[Variable]:
    """Merge the layers, sorted by name; a value's reason says what it replaced."""
    stacks: dict[str, list[Variable]] = {}
    for item in itertools.chain.from_iterable(layers):
        stacks.setdefault(item.name, []).append(item)
    return [_top(stacks[name]) for name in sorted(stacks)]


def _top(stack: list[Variable]) -> Variable:
    *below, top = stack
    replaced = ", ".join(f"{item.value or 'nothing'} from {item.origin}" for item in reversed(below))
    reasons = filter(None, [top.reason, f"instead of {replaced}" if replaced else ""])
    return dataclasses.replace(top, reason="; ".join(reasons))


def of_the_machine(cpus: int, ranks: int) -> list[Variable]:
    """Share the machine's cores among all ranks on it, and disable output buffering."""
    value = max(1, min(MOST_OMP_THREADS, cpus // ranks))
    share = f"{cpus} core{'s' * (cpus != 1)} for {ranks} rank{'s' * (ranks != 1)}"
    reason = f"{share} on the machine, at most {MOST_OMP_THREADS}"
    return [
        variable("OMP_NUM_THREADS", str(value), MUSTER, reason),
        variable("PYTHONUNBUFFERED", "1", MUSTER, "a log line is available as soon as a rank prints it"),
    ]


def inherited_layer(
    values: Mapping[str, str], origin: Origin, node: str | None
) -> tuple[list[Variable], list[Finding]]:
    """Read what a node's ranks inherit; a value that no user may set has its effect all the same, as it is."""
    layer, refused = user_layer({name: clean(value) for name, value in values.items()}, origin, node, _INHERITED)
    layer = [dataclasses.replace(item, value=values[item.name]) for item in layer]
    refused += [
        Finding("environment", node, "warn", f"{item.name} is {display(item.value)}", PRINTABLE, origin.label, CORRECT)
        for item in layer
        if item.value != clean(item.value)
    ]
    return layer, [dataclasses.replace(finding, status="warn") for finding in refused]  # no launch has set it


def user_layer(
    values: Any, origin: Origin, node: str | None, parameter: Parameter = _ENVIRONMENT
) -> tuple[list[Variable], list[Finding]]:
    """Read what a user set; each entry that cannot be a rank's variable is a finding."""
    layer: list[Variable] = []
    errors: list[str] = []
    if not isinstance(values, Mapping):
        errors.append(f"expected a mapping of names to values, saw {type(values).__name__}")
        values = {}
    for name, value in values.items():
        try:
            read(parameter, {name: value})
        except ValueError as error:
            errors.append(str(error))
        else:
            layer.append(variable(name, str(value), origin))
    return layer, [Finding("environment", node, "fail", error, "", origin.label, CORRECT) for error in errors]
