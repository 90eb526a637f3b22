# SPDX-License-Identifier: GPL-3.0-or-later
"""Which layer gives a parameter its value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import display, error_record
from .._findings.origin import DEFAULT, FOR_ONE_RUN, LAUNCH_DEFAULTS, Layer, Origin
from .._text.nearest import nearest, question
from .invalid_value import InvalidValue
from .parameters import Parameter, Value, read
from .verbs import DECIDED_BY_SWEEP, LAUNCHES, VERBS, parameter_names

# Parameters that were given for a run hold again when it is launched again under its run ID.
AGAIN = ", as in the run's plan"
OF_ONE_LAUNCH = ("run_id", "follow", "all", "sync", "wait", "page", "output")
# Other programs' names of parameters.
OF_LAUNCH = {
    "timeout": "time_limit",
    "args": "script_args",
    "port": "master_port",
    "torch_profiler": "script_args",  # the script switches it on
}
OTHER_NAMES = {
    **dict.fromkeys(LAUNCHES, OF_LAUNCH),
    "sweep": {**OF_LAUNCH, "strategy": "search", "order": "shuffle"},
}
PROGRAM = ("script", "module")
OF_A_PROGRAM = (*PROGRAM, "config", "config_name", "config_option", "script_args")
# With more parameters than these, a refusal does not list them.
MANY = 12
# Types for which an empty -e NAME= removes the value of a lower layer; an empty number or choice is a mistake.
CLEARABLE = ("label", "path", "module", "config_name", "arguments", "environment", "ranks")
TEMPLATE = re.compile(r"\{\{|\{%")


class Setting(TypedDict):
    """A parameter's value and where it came from: origin for people, layer (`_findings.origin.Layer`) for code."""

    value: Value
    origin: str
    layer: str


@frozen
class Refusal:
    """What is wrong with a parameter; without an origin, problem names the place.

    problem is a text for people; observed and expected are the parts of it that are known.
    """

    name: str
    problem: str
    origin: Origin | None = None
    observed: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}{f' ({self.origin})' if self.origin else ''}"

    def record(self) -> dict[str, str | None]:
        """Return it as an error of a document."""
        source = self.origin.label if self.origin else None
        return error_record(clean(self), None, self.name, self.observed, self.expected, source)


def setting_of(value: Value, origin: Origin) -> Setting:
    """Return a setting as plain data."""
    return Setting(value=value, origin=origin.label, layer=origin.layer.value)


def values(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a request's parameters."""
    return setting_values(request.get("parameters", {}))


def setting_values(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of settings by their names."""
    return {name: setting.get("value") for name, setting in settings.items()}


def given_values(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values that were given for one run, not by the cluster."""
    return {name: setting["value"] for name, setting in settings.items() if setting["layer"] in FOR_ONE_RUN}


def resolve_parameters(
    verb: str,
    extra_vars: Mapping[str, object],
    environment: Mapping[str, str],
    defaults: object,
    refusals: list[Refusal],
    earlier: object = None,
) -> dict[str, Setting]:
    """Return the setting of every parameter of the verb; invalid ones are left out and added to `refusals`.

    `earlier` is the plan of an earlier launch of the same run, if there is one.
    """
    cluster: Mapping[str, object] = {}
    plan = _plan_layer(earlier, extra_vars)
    if isinstance(defaults, Mapping):
        above = [extra_vars, {name: value for name, (value, _origin) in plan.items()}]
        cluster = _cluster_layer(defaults, above, refusals)
    else:
        refusals.append(Refusal("launch_defaults", f"expected a mapping of launch parameters, saw {display(defaults)}"))
    settings = {}
    for parameter in VERBS[verb]:
        raw, origin = _highest(parameter, extra_vars, environment, plan, cluster)
        cleared = raw is None or (raw == "" and parameter.type in CLEARABLE)
        try:
            value = parameter.built_in() if cleared else read(parameter, raw)
        except InvalidValue as error:
            refusals.append(Refusal(parameter.name, str(error), origin, error.observed, error.expected))
        else:
            settings[parameter.name] = setting_of(value, origin)
    return settings


def refuse_unknown(verb: str, extra_vars: Iterable[str], documented: Collection[str]) -> list[Refusal]:
    """Refuse each extra variable that is not a parameter, not a documented variable and not one of Ansible's."""
    return _unknown(verb, "-e {}", [name for name in extra_vars if not name.startswith("ansible_")], documented)


def named_in_templates(names: Iterable[str], values: Iterable[object]) -> set[str]:
    """Return those of the names that a template among the values names, however deep it is in lists and mappings."""
    patterns = {name: re.compile(rf"\b{re.escape(name)}\b") for name in names}
    named: set[str] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [item for name, item in value.items() if name not in patterns]
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, str) and TEMPLATE.search(value):
            named |= {name for name, pattern in patterns.items() if pattern.search(value)}
    return named


def _highest(
    parameter: Parameter,
    extra_vars: Mapping[str, object],
    environment: Mapping[str, str],
    plan: Mapping[str, tuple[object, Origin]],
    cluster: Mapping[str, object],
) -> tuple[object, Origin]:
    if parameter.name in extra_vars:
        return extra_vars[parameter.name], Origin(Layer.EXTRA_VARS, f"-e {parameter.name}")
    if parameter.environment and environment.get(parameter.environment):
        return environment[parameter.environment], Origin(Layer.ENVIRONMENT, f"environment {parameter.environment}")
    if parameter.name in plan:
        return plan[parameter.name]
    if parameter.name in cluster:
        return cluster[parameter.name], LAUNCH_DEFAULTS
    return None, DEFAULT


def _plan_layer(earlier: object, extra_vars: Mapping[str, object]) -> dict[str, tuple[object, Origin]]:
    """Return (value, origin) of what was given for the run when it was launched before; the file may hold anything."""
    settings = earlier.get("parameters") if isinstance(earlier, Mapping) else None
    layer = {}
    for name, setting in settings.items() if isinstance(settings, Mapping) else ():
        source = setting.get("layer") if isinstance(setting, Mapping) else None
        if source in FOR_ONE_RUN and name not in OF_ONE_LAUNCH:
            label = f"{setting.get('origin')}{'' if source == Layer.EARLIER else AGAIN}"
            layer[str(name)] = (setting.get("value"), Origin(Layer.EARLIER, label))
    if _names_a_program(extra_vars):
        for name in OF_A_PROGRAM:
            layer.pop(name, None)
    return layer


def _names_a_program(layer: Mapping[str, object]) -> bool:
    return any(layer.get(name) not in (None, "") for name in PROGRAM)


def _cluster_layer(
    defaults: Mapping[object, object], above: Iterable[Mapping[str, object]], refusals: list[Refusal]
) -> dict[str, object]:
    cluster = {str(name): value for name, value in defaults.items()}
    refusals += _unknown("launch", LAUNCH_DEFAULTS.label, list(cluster), ())
    refusals += [
        Refusal(p.name, f"belongs to one run and is not allowed in the cluster's launch_defaults; give -e {p.name}")
        for p in VERBS["launch"]
        if p.per_run and cluster.pop(p.name, None) is not None
    ]
    if any(map(_names_a_program, above)) and any(name in cluster for name in PROGRAM):
        # The cluster's configuration and arguments are for the cluster's program, not for another one.
        for name in OF_A_PROGRAM:
            cluster.pop(name, None)
    return cluster


def _unknown(verb: str, origin: str, names: Sequence[str], documented: Collection[str]) -> list[Refusal]:
    parameters = parameter_names(verb)
    known = {*parameters, *documented, "_raw_params"}
    near = (
        {name.lower(): name for name in (*parameters, *documented)}
        | OTHER_NAMES.get(verb, {})
        | {p.environment.lower(): p.name for p in VERBS[verb] if p.environment}
    )
    takes = f"{verb} takes {', '.join(parameters)}; also policy (launch_*, see roles/launch/README.md)"
    refusals = []
    for name in (name for name in names if name not in known):
        shown = name if name.isprintable() else display(name)
        owner = next((other for other in VERBS if name in parameter_names(other)), None)
        if verb == "sweep" and name in DECIDED_BY_SWEEP:
            refusals.append(Refusal(shown, "a sweep follows and shows each of its runs, and names them; remove it"))
            continue
        hint = f"it belongs to the verb {owner}; " if owner else question(nearest(name.lower(), near))
        # Many names would hide the one that was meant.
        remedy = f"{hint}docs/parameters.md has all" if hint and len(parameters) > MANY else f"{hint}{takes}"
        problem = f"unknown parameter ({origin.format(shown)}); {remedy}"
        refusals.append(Refusal(shown, problem, expected=takes))
    return refusals
