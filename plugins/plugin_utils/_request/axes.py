# SPDX-License-Identifier: GPL-3.0-or-later
"""The axes of a sweep: for each launch parameter, or environment variable `env.NAME`, the values that it takes."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

VARIABLE = "env."
EXAMPLE = {"sweep": {"channels": [28, 42], "env.NCCL_PROTO": ["Simple", "LL128"]}}
EXPECTED = "a list of values for each launch parameter or env.NAME, such as -e " + shlex.quote(json.dumps(EXAMPLE))


def read_axes(raw: object) -> dict[str, Any]:
    """Return what is given for each name, or raise ValueError; `points` checks the lists and reads their values."""
    axes = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(axes, dict) or not axes:
        raise ValueError
    return {str(name): values for name, values in axes.items()}


def combinations(axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values in the order given, in which the last name changes fastest."""
    return (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))


def parameters_of(point: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the launch parameters of a point; environment is the `env` of all points."""
    parameters = {name: value for name, value in point.items() if not name.startswith(VARIABLE)}
    variables = {name.removeprefix(VARIABLE): str(value) for name, value in point.items() if name.startswith(VARIABLE)}
    return {**parameters, "env": {**environment, **variables}} if variables else parameters
