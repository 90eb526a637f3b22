# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as it is compared with others: what it was, by `run.yml` and `plan.json`, and its numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .._text.ranges import fold
from .rows import number
from .summary import NOT_LISTED, parameter_values, values_of

# The parts of what a run was.
PARTS = ("parameters", "environment", "code", "versions", "nodes")
# Of a run's numbers those that everybody looks for, in this order; others follow, but not the ones that were given.
FIRST = ("verdict", "loss", "tokens_per_s", "samples_per_s", "steps_per_s", "elapsed_s", "step", "first_loss")
GIVEN = ("world_size", "total_steps")
# Each run has another one, of those that are free.
OF_ONE_RUN = ("MASTER_PORT",)


@frozen
class ComparedRun:
    """A run; settings has the values of each of `PARTS` by their names, None for a part that is not known.

    In the environment, which is the one of the head, `{run_id}` and `{nonce}` stand for those of the run.
    """

    run_id: str
    settings: Mapping[str, Mapping[str, Any] | None]
    metrics: Mapping[str, Any]

    @property
    def unknown(self) -> list[str]:
        """The parts that are not known."""
        return [part for part in PARTS if self.settings[part] is None]


def read_run(run_id: str, document: Mapping[str, Any], plan: object) -> ComparedRun:
    """Return a run by its `run.yml`, of which `summarize` knows no problem, and its `plan.json`."""
    given = {
        variable: value
        for name, setting in as_dict(document.get("parameters")).items()
        if name not in (*NOT_LISTED, "env")  # the environment has them
        for variable, value in parameter_values(str(name), as_dict(setting).get("value")).items()
    }
    nodes = document.get("nodes")
    where = {
        "cluster": document.get("cluster"),
        "nodes": ",".join(fold(map(str, nodes))) if isinstance(nodes, list) else None,
        "replaced": ", ".join(f"{node} by {spare}" for node, spare in as_names(document.get("replaced")).items()),
        "world_size": document.get("world_size"),
        "fabric": document.get("fabric"),
    }
    settings = {
        "parameters": given or None,
        "environment": _environment(run_id, as_dict(plan)) or None,
        "code": _known(document.get("code")),
        "versions": _known(document.get("versions")),
        "nodes": _known(where),
    }
    return ComparedRun(run_id, settings, _metrics(run_id, document))


def _known(part: object) -> dict[str, Any] | None:
    return {str(name): value for name, value in as_dict(part).items() if value not in (None, "")} or None


def _environment(run_id: str, plan: Mapping[str, Any]) -> dict[str, str]:
    job = as_dict(as_dict(plan.get("jobs")).get(as_dict(plan.get("head")).get("node")))
    variables = job.get("environment")
    stand_ins = {str(plan.get("nonce") or run_id): "{nonce}", run_id: "{run_id}"}
    pattern = re.compile("|".join(map(re.escape, stand_ins)))
    values = {}
    for variable in variables if isinstance(variables, list) else ():
        name, value = (str(as_dict(variable).get(key)) for key in ("name", "value"))
        if name not in OF_ONE_RUN:
            values[name] = pattern.sub(lambda match: stand_ins[match[0]], value)
    return values


def _metrics(run_id: str, document: Mapping[str, Any]) -> dict[str, Any]:
    values = values_of(run_id, {**document, "parameters": {}})
    others = [name for name, value in values.items() if name not in (*FIRST, *GIVEN) and number(value) is not None]
    return {name: values[name] for name in (*FIRST, *sorted(others)) if values.get(name) is not None}
