# SPDX-License-Identifier: GPL-3.0-or-later
"""The points of a sweep, checked before any of them is launched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .._findings.errors import display
from .._findings.origin import DEFAULT, Layer, Origin
from .._text.nearest import nearest, question
from .axes import VARIABLE, combinations, parameters_of
from .contradictions import launch_errors
from .invalid_value import InvalidValue
from .nodes import Inventory
from .parameters import read
from .search import search_errors
from .settings import OF_A_PROGRAM, OTHER_NAMES, PROGRAM, Setting, setting_of
from .verbs import DECIDED_BY_SWEEP, VERBS

# A grid grows faster than people expect.
MOST_POINTS = 1000
# Most contradictions are the same at many points.
MOST_ERRORS = 10
# Parameters of all runs, not of one.
NOT_SWEPT = (*DECIDED_BY_SWEEP, "sync", "label", "wait", "on_end", "env")
SWEPT = {parameter.name: parameter for parameter in VERBS["launch"] if parameter.name not in NOT_SWEPT}
VARIABLES = next(parameter for parameter in VERBS["launch"] if parameter.name == "env")
ORIGIN = Origin(Layer.EXTRA_VARS, "-e sweep")


def errors(settings: Mapping[str, Setting], inventory: Inventory) -> list[str]:
    """Return a line for each mistake in the sweep, and for what contradicts itself at its points."""
    if "sweep" not in settings:
        return []
    axes: Any = settings["sweep"]["value"]
    if axes is None:
        return ['sweep: no values were given; give -e \'{"sweep": {"channels": [28, 42]}}\'']
    lines = [line for name, values in axes.items() for line in _axis_errors(name, values, settings)]
    if lines:
        return list(dict.fromkeys(lines))
    repeat = settings["repeat"]["value"] if "repeat" in settings else 1
    combinations_count = math.prod(len(values) for values in axes.values())
    count = combinations_count * int(str(repeat))
    confirmed = "confirm_points" in settings and settings["confirm_points"]["value"]
    if count > MOST_POINTS and not confirmed:
        lines.append(
            f"sweep: expected at most {MOST_POINTS} runs, saw {count}; give fewer values, or confirm them with "
            "-e confirm_points=true"
        )
    lines += search_errors(settings, combinations_count)
    return lines or _contradictions(axes, settings, inventory)


def read_points(axes: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the points with their values as a launch reads them; `errors` has found nothing wrong with the axes."""
    return list(combinations(read_values(axes)))


def read_values(axes: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the values as a launch reads them."""
    return {name: [_read(name, value) for value in values] for name, values in axes.items()}


def _axis_errors(name: str, values: Any, settings: Mapping[str, Setting]) -> list[str]:
    variable = name.removeprefix(VARIABLE)
    if variable == name and name not in SWEPT:
        near = {known: known for known in SWEPT} | OTHER_NAMES["launch"]
        hint = question(nearest(name.lower(), near) or (f"{VARIABLE}{name}" if name.isupper() else None))
        known_names = ", ".join(sorted(SWEPT))
        return [f"sweep: {display(name)} cannot be varied; {hint}expected env.NAME or one of {known_names}"]
    if not isinstance(values, list) or not values:
        return [f"sweep: {name}: expected a list with at least one value, saw {display(values)}"]
    lines = []
    known = []
    for value in values:
        try:
            known.append(_read(name, value))
        except InvalidValue as error:
            lines.append(f"sweep: {name}: {str(error).removeprefix(f'{variable}: ')}")
    lines += [f"sweep: {name}: {display(value)} is given twice; give it once" for value in _repeated(known)]
    given = settings.get("env" if variable != name else name)
    is_given = given is not None and given["layer"] == Layer.EXTRA_VARS
    if given and is_given and (variable == name or variable in as_dict(given["value"])):
        lines.append(f"sweep: {name}: {given['origin']} gives a value, too; give only one of them")
    return lines


def _read(name: str, value: object) -> Any:
    if not name.startswith(VARIABLE):
        return read(SWEPT[name], value)
    variable = name.removeprefix(VARIABLE)
    known: Any = read(VARIABLES, {variable: value})
    return known[variable]


def _repeated(values: Iterable[Any]) -> list[Any]:
    known: list[Any] = []
    repeated: list[Any] = []
    for value in values:
        (repeated if value in known and value not in repeated else known).append(value)
    return repeated


def _contradictions(axes: Mapping[str, list[Any]], settings: Mapping[str, Setting], inventory: Inventory) -> list[str]:
    """Return each contradiction once, however many points have it."""
    environment: Any = settings["env"]["value"] if "env" in settings else {}
    lines: dict[str, None] = {}
    for point in read_points(axes):
        parameters = parameters_of(point, environment)
        overlay = {name: setting_of(value, ORIGIN) for name, value in parameters.items()}
        others = settings if not overlay.keys() & {*PROGRAM} else _without_program(settings)
        lines.update(dict.fromkeys(launch_errors({**others, **overlay}, inventory)))
        if len(lines) >= MOST_ERRORS:
            break
    return list(lines)


def _without_program(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings without the cluster's program, which gives way to the one of a point."""
    of_cluster = [name for name in OF_A_PROGRAM if name in settings and settings[name]["layer"] == Layer.CLUSTER]
    return {**settings, **dict.fromkeys(of_cluster, setting_of(None, DEFAULT))}
