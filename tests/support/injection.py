# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of a text that was given: the value that was made of it, or the refusal's words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.plugin_utils._findings import finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._request.command_line import CommandLine
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest, make_request
from ansible_collections.muster.train.tests.support.requests import LINE

TWO = Inventory((InventoryHost("node0"), InventoryHost("node1")))
Lines = tuple[str, ...]


def ask(verb: str, raw: dict[str, Any], line: CommandLine = LINE, **more: Any) -> tuple[dict[str, Any] | None, Lines]:
    """Return the values of a request's parameters, or the lines of its refusal."""
    given: dict[str, Any] = {"extra_vars": raw, "defaults": {}, **more}
    if verb in ("launch", "sweep", "submit") and not {"script", "module"} & {*raw, *given["defaults"]}:
        given["defaults"] = {**given["defaults"], "script": "train.py"}
    if verb == "shell" and not {"rank", "node"} & {*raw}:
        given["extra_vars"] = {**raw, "rank": "0"}
    if verb == "note":
        given["extra_vars"] = {"note": "fine", **raw}
    if verb == "import":
        given["extra_vars"] = {"source": "old", **raw}
    if verb == "compare" and not {"runs", "last"} & {*raw}:
        given["extra_vars"] = {**raw, "last": 2}
    if verb == "sweep":
        given["extra_vars"] = {"sweep": {"env.SWEPT": [1, 2]}, **raw}
    if verb == "submit":
        given["extra_vars"] = {"nnodes": 2, **raw}
        line = dataclasses.replace(line, of_slurm=["slurm.yml"])
    try:
        made = make_request(verb, line, **{"inventory": TWO, "experiments": "/home/ann/experiments", **given})
    except InvalidRequest as refused:
        return None, tuple(str(refused).split("\n"))
    return {name: setting["value"] for name, setting in made["parameters"].items()}, ()


def attempt(call: Callable[..., Any], *args: object) -> tuple[Any, str | None]:
    """Return what came of a call, and the refusal's words."""
    try:
        return call(*args), None
    except (ValueError, StartError, PlanError) as refused:
        return None, str(refused)


def findings_against(plan: Callable[[], object]) -> list[finding.Finding]:
    """Return the findings that stand against it."""
    _value, refused = attempt(plan)
    if refused is None:
        return []
    with pytest.raises(PlanError) as caught:
        plan()
    assert all(line.isprintable() for line in refused.split("\n"))
    return caught.value.findings


def escaped(text: str) -> str:
    """Return a text as it is given where a name in braces is a placeholder."""
    return re.sub(r"(?<!\$)(\{[A-Za-z_][A-Za-z0-9_]*\})", r"{\1}", text)
