# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus through a request, an inventory and a cluster's policy: a refusal that names the field, or the same text.

The fields come from the code's own tables, so that a new one is covered by itself.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._runs.read import run_directory
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import NAMES, check_alike
from ansible_collections.muster.train.plugins.plugin_utils._findings import finding
from ansible_collections.muster.train.plugins.plugin_utils._request import host_list, transport_policy
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import ARGUMENT_MAX, Parameter
from ansible_collections.muster.train.plugins.plugin_utils._request.printable_text import PATH_MAX
from ansible_collections.muster.train.plugins.plugin_utils._request.value_names import read_names
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.injection import (
    TWO,
    Lines,
    ask,
    attempt,
    escaped,
    findings_against,
)
from ansible_collections.muster.train.tests.support.plan_parts import POLICY, policy, read_policy
from ansible_collections.muster.train.tests.support.requests import LINE

pytestmark = pytest.mark.slow
CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# What a parameter is refused without.
BESIDE: dict[str, dict[str, object]] = {
    **{name: {"rocprof": True} for name in ("rocprof_input", "profiler_args")},
    "prune": {"objective": "loss"},
}
PARAMETERS = [(verb, parameter) for verb, parameters in VERBS.items() for parameter in parameters]


def refuses(field: str, lines: Lines) -> None:
    """Each line names the field and leaves the terminal as it is; none is longer than a person reads."""
    assert lines
    for line in lines:
        assert line.startswith(f"{field}: "), line
        assert line.isprintable(), line
        assert len(line) < 1000


# The parameters of the verbs


def shapes(parameter: Parameter, text: str) -> list[tuple[object, object]]:
    """Return what can be given with the text in it, and what has to come of it when it is taken."""
    if parameter.type == "arguments":
        return [([text], [text]), (["--x", text, text], ["--x", text, text]), (text, None)]
    if parameter.type == "environment":
        return [({"X": text}, {"X": text}), ({text: "1"}, {text: "1"}), (text, None)]
    if parameter.type == "hosts":
        return [([text], [text]), (text, [text]), (f"a,{text}", [f"a,{text}"])]
    return [(text, text)]


def means(parameter: Parameter, text: object) -> object:
    """Return what a text is for a parameter that is not text."""
    if parameter.type == "bool":
        return str(text).lower() in ("yes", "true", "1", "on")
    if parameter.type == "int":
        return int(str(text))
    if parameter.type in ("arguments", "sbatch_options"):
        return json.loads(str(text)) if str(text).lstrip().startswith("[") else shlex.split(str(text))
    if parameter.type == "names":
        return read_names(text)
    if parameter.type == "transport":
        return transport_policy.read_policy(text)
    return {} if text == "" else json.loads(str(text))


@pytest.mark.parametrize(
    ("verb", "parameter"), PARAMETERS, ids=[f"{verb}-{parameter.name}" for verb, parameter in PARAMETERS]
)
def test_a_parameter(verb: str, parameter: Parameter, texts: dict[str, str]) -> None:
    beside = {**BESIDE.get(parameter.name, {}), **({"replicas": 2} if verb == "scale" else {})}
    ways: list[Callable[[object], dict[str, Any]]] = [lambda raw: {"raw": {**beside, parameter.name: raw}}]
    if verb == "launch" and not parameter.per_run:
        ways.append(lambda raw: {"raw": {}, "defaults": {parameter.name: raw}})
    if parameter.environment:
        variable = parameter.environment
        ways.append(lambda raw: {"raw": {}, "line": dataclasses.replace(LINE, environment={variable: str(raw)})})
    for text in texts.values():
        for raw, kept in shapes(parameter, text):
            for way in ways:
                values, lines = ask(verb, **way(raw))
                if values is None:
                    # What it is given in vain, or cleared by an empty text, is missing beside it.
                    missing = ("cluster: expected the name", "nodes: expected the hosts in one way", "script: neither")
                    relevant = tuple(line for line in lines if not line.startswith(missing))
                    assert relevant == lines or text == "" or verb == "discover"
                    # Each of several words may be wrong in its own way.
                    assert len(relevant) < 2 or isinstance(raw, (list, dict)) or parameter.type == "arguments"
                    refuses(parameter.name, relevant or (f"{parameter.name}: ",))
                elif values[parameter.name] != kept and text != "":
                    assert values[parameter.name] == means(parameter, raw)


@pytest.mark.parametrize("name", [parameter.name for parameter in VERBS["launch"] if parameter.type == "path"])
def test_a_path_keeps_what_can_be_one(name: str, texts: dict[str, str]) -> None:
    for text in filter(None, texts.values()):
        values, lines = ask("launch", {name: text, **BESIDE.get(name, {})})
        if CONTROL.search(text) or text.startswith("-") or text.isspace() or len(text) > PATH_MAX:
            [line] = lines
            assert line.startswith(f"{name}: expected a path")
        else:
            assert values is not None, lines
            assert values[name] == text


def test_arguments_and_environment_keep_what_is_no_control_character(texts: dict[str, str]) -> None:
    for text in map(escaped, texts.values()):
        for name, raw in (("script_args", ["--x", text]), ("profiler_args", ["--x", text]), ("env", {"X": text})):
            values, lines = ask("launch", {name: raw, **BESIDE.get(name, {})})
            is_of_muster = name == "profiler_args" and (text == "--" or text.startswith(("-d", "-i", "-o")))
            if CONTROL.search(text) or len(text) > ARGUMENT_MAX or is_of_muster:
                [line] = lines
                refuses(name, (line,))
            else:
                assert values is not None, lines
                assert values[name] == raw
        # The name of a variable has no blank.
        [line] = ask("launch", {"env": {text + " ": "1"}})[1]
        refuses("env", (line,))


@pytest.mark.parametrize("verb", [verb for verb, parameter in PARAMETERS if parameter.name == "run_id"])
def test_no_text_is_a_run_id(verb: str, texts: dict[str, str]) -> None:
    for text in texts.values():
        [line] = ask(verb, {"run_id": text})[1]
        refuses("run_id", (line,))


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_that_is_no_parameter(verb: str, texts: dict[str, str]) -> None:
    expected = set(ask(verb, {})[1])
    for text in texts.values():
        [line] = set(ask(verb, {text: "1"})[1]) - expected
        assert "unknown parameter" in line
        assert line.isprintable()
        _values, lines = ask(verb, {"_raw_params": text})
        assert all(line.isprintable() for line in lines)
        assert any("unknown parameter" in line or "is not NAME=VALUE" in line for line in lines) or text == ""


# The inventory


@pytest.mark.parametrize("verb", VERBS)
def test_a_node_and_its_address(verb: str, texts: dict[str, str]) -> None:
    plain = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,250}[A-Za-z0-9])?")
    for text in texts.values():
        for bad, fine in (
            (InventoryHost(text), plain.fullmatch(text)),
            (InventoryHost("node1", text), text == "" or plain.fullmatch(text)),
            (InventoryHost("node1", "10.0.0.2", text), text == "" or re.fullmatch("[0-9]{1,5}", text)),
        ):
            asked = ask(verb, {}, inventory=dataclasses.replace(TWO, nodes=(InventoryHost("node0"), bad)))[1]
            lines = [line for line in asked if line.startswith("inventory: ")]
            assert bool(lines) != bool(fine), text[:60]
            assert all(line.isprintable() and len(line) < 400 for line in asked)
        _values, lines_ = ask(
            verb, {}, dataclasses.replace(LINE, inventories=(text,), limit=text), inventory=Inventory(())
        )
        assert all(line.isprintable() for line in lines_)


def test_a_list_of_hosts(texts: dict[str, str]) -> None:
    for text in texts.values():
        for read in (host_list.parse_hosts, host_list.parse_node_list):
            targets, refusal = attempt(read, text)
            assert refusal is None or all(line.isprintable() for line in refusal.split("\n"))
            for host in targets or []:
                assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", host.host)
                assert not host.user or host_list.USER.fullmatch(host.user)


def test_a_run_of_a_node(texts: dict[str, str], tmp_path: Path) -> None:
    for text in texts.values():
        if SAFE_RUN_ID.fullmatch(text):
            assert run_directory(str(tmp_path), "node0", text) == f"{tmp_path}/.muster/nodes/node0/runs/{text}"
        else:
            with pytest.raises(ValueError, match="is not a valid run ID") as refused:
                run_directory(str(tmp_path), "node0", text)
            assert str(refused.value).isprintable()


# The cluster's policy


def variants(name: str, text: str) -> list[object]:
    """Return the values with the text in it that a variable could be given."""
    if name in ("launch_env", "preflight_expected", "preflight_levels"):
        return [{text: "1"}, {"clock": text}, {"NCCL_X": text}, text, [text]]
    return [["docker", text], [text], text] if name == "launch_docker" else [text, [text], {text: text}]


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_of_the_policy(name: str, texts: dict[str, str]) -> None:
    for text in texts.values():
        for raw in variants(name, text):
            findings = findings_against(functools.partial(read_policy, {**POLICY, name: raw}))
            # The thresholds are the role's: preflight_NAME, told as they are called.
            assert all(name in one.check or name in str(one) for one in findings), findings
            if not findings and isinstance(raw, str):
                kept = read_policy({**POLICY, name: raw})
                value = getattr(kept, name.removeprefix("launch_"), raw)
                assert value == raw or isinstance(value, (int, list, tuple)), (value, raw)


def test_an_address_of_the_head_is_one(texts: dict[str, str]) -> None:
    for text in texts.values():
        if re.fullmatch(r"[a-z]*(\.[a-z]+)?", text):  # yes, null and nan are names too
            continue
        [problem] = findings_against(functools.partial(policy, head_address=text))
        assert problem.check == "launch_head_address"


def test_what_differs_among_nodes_is_told_on_one_line(texts: dict[str, str]) -> None:
    for text in texts.values():
        for name in ("launch_slot", "launch_env"):
            value = {text: text} if name == "launch_env" else text
            findings = check_alike({"node0": {name: "x"}, "node1": {name: value}})
            assert all(line.isprintable() for line in finding.lines(findings))
