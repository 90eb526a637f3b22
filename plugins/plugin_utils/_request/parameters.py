# SPDX-License-Identifier: GPL-3.0-or-later
"""What a parameter is, and how its value is read.

`read` takes what a person typed (text, or what JSON and YAML make of it) and returns the value, or raises InvalidValue
with the expected and the observed value. A value is taken literally or refused, never corrected. The verbs' parameters
are in `verbs.py`.
"""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.errors import display
from .._text import placeholders
from . import (
    axes,
    byte_size,
    conditions,
    host_list,
    metrics_pattern,
    note_text,
    on_end,
    rank_list,
    regex,
    run_id,
    run_ids,
    slurm_values,
    transport_policy,
    value_names,
    variable_names,
)
from .invalid_value import InvalidValue, unexpected
from .printable_text import read_text

Value = str | int | bool | list[str] | dict[str, Any] | None


@frozen
class Parameter:
    """One parameter of a verb."""

    name: str
    type: str  # a key of READERS
    default: Value = None
    minimum: int = 0
    maximum: int = 0
    multiple: int = 1
    choices: tuple[str, ...] = ()
    environment: str | None = None
    per_run: bool = False  # not allowed in a cluster's launch_defaults
    expanded: bool = False  # its placeholders are replaced in the plan

    def built_in(self) -> Value:
        """Return a copy of the built-in default."""
        return copy.copy(self.default)


ARGUMENT_MAX = 128 * 1024 - 1  # MAX_ARG_STRLEN of binfmts.h, less the closing NUL
CONFIG_OPTION = re.compile(r"(-.*|.*=)?")
MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
SECONDS = re.compile(r"([0-9]{1,9})([smhd]?)")
UNITS = conditions.SECONDS
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=([ -&(-~]{0,64})")  # what an example can quote unchanged

LABEL_HINT = "1 to 40 letters, digits, '.', '_' or '-', the first a letter or digit"
PATH_HINT = ", not beginning with '-' and without control characters"
STRING_HINT = "a string (in quotes) without control characters"


def _mapping_hint(example: dict[str, str]) -> str:
    return "a mapping of names to values, such as -e " + shlex.quote(json.dumps({"env": example}))


def expected(parameter: Parameter) -> str:
    """Describe the values that a parameter takes."""
    if parameter.type == "int":
        text = f"a whole number from {parameter.minimum} to {parameter.maximum}"
        return text + (f" that is a multiple of {parameter.multiple}" if parameter.multiple > 1 else "")
    return {
        "bool": "true or false",
        "choice": "one of " + ", ".join(parameter.choices),
        "transport": transport_policy.EXPECTED,
        "seconds": "seconds (90) or a number with s, m, h or d (30m), "
        f"from {'0 seconds' if parameter.minimum == 0 else '1 second'} to "
        f"{parameter.maximum // UNITS['d']} day{'s' if parameter.maximum > UNITS['d'] else ''}",
        "bytes": byte_size.expected(parameter.minimum, parameter.maximum),
        "label": LABEL_HINT,
        "file": f"a path on the controller{PATH_HINT}",
        "path": f"a path on the node{PATH_HINT}",
        "module": "a dotted Python name such as package.train",
        "config_name": f"a name{PATH_HINT}",
        "config_option": "an option such as --config or --config=, or nothing",
        "node": "the name of a node",
        "run_id": f"a run ID such as {run_id.EXAMPLE}",
        "conditions": f"NAME=VALUE, with {' '.join(conditions.OPERATORS)} and commas: channels=42,loss<3",
        "order": "a name such as loss, or -loss for the largest first",
        "arguments": "a list of strings (as JSON) or one line in shell quoting, without control characters",
        "environment": _mapping_hint({"FOO": "bar"}),
        "name": LABEL_HINT,
        "user": "a user name such as train",
        "pattern": metrics_pattern.EXPECTED,
        "on_end": on_end.EXPECTED,
        "regex": regex.EXPECTED,
        "axes": axes.EXPECTED,
        "note": note_text.EXPECTED,
        "run_ids": run_ids.EXPECTED,
        "names": value_names.EXPECTED,
        "sweep_id": "the name of a sweep such as sweep_20261120_143052[_label]",
        "ranks": rank_list.EXPECTED,
        "slurm": slurm_values.WORD_EXPECTED,
        "slurm_time": slurm_values.TIME_EXPECTED,
        "sbatch_options": slurm_values.OPTIONS_EXPECTED,
        "hosts": "hosts such as head,gpu[01-16] or train@10.0.0.1:2222",
    }[parameter.type]


def read(parameter: Parameter, raw: object) -> Value:
    """Return the value of `raw`, or raise InvalidValue with the expected and the observed value, in one line."""
    try:
        value = READERS[parameter.type](parameter, raw)
        if parameter.expanded:
            _refuse_unknown_placeholders(value)
        return value
    except InvalidValue:
        raise
    except (ValueError, RecursionError):
        raise unexpected(expected(parameter), raw) from None


def _refuse_unknown_placeholders(value: Value) -> None:
    texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [str(value or "")]
    for text in texts:
        for name in placeholders.unknown_names(text):
            known = ", ".join(f"{{{known}}}" for known in placeholders.NAMES)
            raise InvalidValue(
                f"{{{name}}} in {display(text)} is not a placeholder; expected one of {known}, "
                f"or {{{{{name}}}}} for the text {{{name}}}"
            )


def _int(parameter: Parameter, raw: object) -> int:
    # Stricter than Ansible's int, which takes True, 42.0, '4e1' and digits of other scripts.
    if not isinstance(raw, (int, str)) or not re.fullmatch(r"-?[0-9]{1,18}", str(raw)):
        raise ValueError
    number = int(raw)
    if not parameter.minimum <= number <= parameter.maximum or number % parameter.multiple:
        raise ValueError
    return number


def _typed(parameter: Parameter, raw: object, **spec: Any) -> Any:
    result = ArgumentSpecValidator({parameter.name: spec}).validate({parameter.name: raw})
    if result.error_messages:
        raise ValueError
    return result.validated_parameters[parameter.name]


def _bool(parameter: Parameter, raw: object) -> bool:
    return bool(_typed(parameter, raw, type="bool"))


def _choice(parameter: Parameter, raw: object) -> str:
    return str(_typed(parameter, read_text(raw), type="str", choices=list(parameter.choices)))


def _matching(pattern: re.Pattern[str]) -> Callable[[Parameter, object], str]:
    def matching(parameter: Parameter, raw: object) -> str:
        text = read_text(raw)
        if not pattern.fullmatch(text):
            raise ValueError
        return text

    return matching


def _path(parameter: Parameter, raw: object) -> str:
    text = read_text(raw)
    if text.startswith("-") or not text.strip():
        raise ValueError
    return text


def _seconds(parameter: Parameter, raw: object) -> int:
    match = SECONDS.fullmatch(read_text(raw))
    if not match:
        raise ValueError
    seconds = int(match[1]) * UNITS[match[2]]
    if not parameter.minimum <= seconds <= parameter.maximum:
        raise ValueError
    return seconds


def _checked(check: Callable[[str], str]) -> Callable[[Parameter, object], str]:
    def checked(parameter: Parameter, raw: object) -> str:
        try:
            return check(read_text(raw))
        except ValueError as error:
            raise unexpected(str(error) or expected(parameter), raw) from None

    return checked


def _arguments(parameter: Parameter, raw: object) -> list[str]:
    items: object = raw
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        try:
            items = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"{display(raw)} is not a JSON list ({error}); expected {expected(parameter)}") from None
    elif isinstance(raw, str):
        line = read_text(raw, longest=16 * ARGUMENT_MAX)
        try:
            items = shlex.split(line)
        except ValueError as error:
            raise InvalidValue(f"{error} in {display(raw)}; expected {expected(parameter)}") from None
    if not isinstance(items, list):
        raise ValueError
    arguments = []
    for index, item in enumerate(items):
        try:
            arguments.append(read_text(item, ARGUMENT_MAX))
        except ValueError:
            raise InvalidValue(f"item {index}: expected {STRING_HINT}, saw {display(item)}") from None
    return arguments


def _environment(parameter: Parameter, raw: object) -> dict[str, str]:
    try:
        mapping = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        if assignment := ASSIGNMENT.fullmatch(str(raw)):
            example = _mapping_hint({assignment[1]: assignment[2]})
            raise unexpected(example, raw) from None
        raise
    if not isinstance(mapping, dict):
        raise ValueError
    environment = {}
    for name, value in mapping.items():
        if problem := variable_names.problem(name):
            raise InvalidValue(problem)
        try:
            environment[name] = read_text(value, ARGUMENT_MAX - len(name) - 1)
        except ValueError:
            raise InvalidValue(f"{name}: expected {STRING_HINT}, saw {display(value)}") from None
    return environment


READERS: dict[str, Callable[[Parameter, object], Value]] = {
    "int": _int,
    "bool": _bool,
    "choice": _choice,
    "transport": lambda _parameter, raw: transport_policy.read_policy(raw),
    "seconds": _seconds,
    "bytes": lambda parameter, raw: byte_size.read_size(read_text(raw), parameter.minimum, parameter.maximum),
    "label": _matching(run_id.LABEL),
    "file": _path,
    "path": _path,
    "module": _matching(MODULE),
    "config_name": _path,
    "config_option": _matching(CONFIG_OPTION),
    "node": _path,
    "run_id": _checked(run_id.check),
    "conditions": _matching(conditions.CONDITIONS),
    "order": _matching(conditions.ORDER),
    "arguments": _arguments,
    "environment": _environment,
    "name": _matching(run_id.LABEL),
    "regex": _checked(regex.check),
    "user": _matching(host_list.USER),
    "pattern": _checked(metrics_pattern.check),
    "on_end": _checked(on_end.check),
    "hosts": lambda _parameter, raw: host_list.read_hosts(raw),
    "axes": lambda _parameter, raw: axes.read_axes(raw),
    "note": _checked(note_text.check),
    "sweep_id": _matching(run_id.SWEEP),
    "names": lambda _parameter, raw: value_names.read_names(raw),
    "run_ids": lambda _parameter, raw: run_ids.read_run_ids(raw),
    "ranks": lambda _parameter, raw: rank_list.read_ranks(raw),
    "slurm": _matching(slurm_values.WORD),
    "slurm_time": _checked(slurm_values.read_time),
    "sbatch_options": lambda parameter, raw: slurm_values.check_options(_arguments(parameter, raw)),
}
