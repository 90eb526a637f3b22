# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what nodes must agree on, and what each must have."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._cluster.machines import machine, share_network
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, lines
from ansible_collections.muster.train.tests.support.cases import Case, case_of, cluster, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import facts, facts_dict, wrong

SAME = {"machine_id": "m", "boot_id": "b"}
SCRIPT = Launch(files={"script": ("train.py", "-e script")})
CONFIG = Launch(files={"config": ("big.yaml", "-e config")})


def script(sha256: str | None = "1" * 64, exists: bool = True, readable: bool = True) -> dict[str, Any]:
    file = {"path": "/home/ann/code/train.py", "exists": exists, "readable": readable, "sha256": sha256}
    return {"files": {"train.py": file}}


def check_config(nodes: dict[str, NodeFacts]) -> list[Finding]:
    return wrong("files", nodes, launch=CONFIG)


def config(text: str | None, name: str = "big.yaml") -> dict[str, Any]:
    return {"config": {"path": f"/home/ann/code/{name}", "text": text}}


NO_TORCH = {"torch": None, "site_packages": ["/v/lib/python3.11/site-packages", "/opt/more"]}
SEARCHED = {"versions": {**NO_TORCH, "python_path": "/opt"}}
IDENTITY = facts_dict(0)["workdir"]["identity"]
LUSTRE = {"workdir__filesystem": "lustre", "workdir__flock": False, "workdir__flock_error": "Function not implemented"}
TORCHLESS = {"python": {"command": "v/bin/python", "path": "/home/ann/my v/bin/python"}, "versions": NO_TORCH}
MISSING = script(None, exists=False, readable=False)
MISSPELT = {"files": {"train.py": {**MISSING["files"]["train.py"], "beside": ["eval.py", "trian.py"]}}}
# What is a mistake in YAML, and what is not a mapping.
NO_MAPPINGS = {
    "a mapping within a value": "a: b: c\n",
    "a list that does not end": "a: 1\nb: [1, 2\nc: 3\n",
    "a tab": "a: 1\n\tb: 2\n",
    "an alias of nothing": "a: *unknown\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "a control character": "a: \x00\n",
    "nothing": "",
    "a comment": "# nothing\n",
    "a list": "- a\n- b\n",
    "a word": "just words\n",
    "thousands of lists": "[\n" * 2000,
}


def script_case(name: str, nodes: list[str], *changes: dict[str, Any]) -> Case:
    return case_of("files", name, dict.fromkeys(nodes, "fail"), *changes, launch=SCRIPT)


HEAD, OTHER = {"node0": "fail"}, {"node1": "fail"}
CASES = [
    case_of(
        "node",
        "two names for one work directory",
        {"node1": "fail", "node3": "fail"},
        *[{}, {"workdir__identity": IDENTITY}] * 2,
    ),
    case_of("work directory", "a file system without locks", OTHER, {"workdir__flock": True}, LUSTRE),
    case_of("work directory", "a work directory that cannot be written", HEAD, {"workdir__writable": False}, {}),
    case_of("code directory", "no code directory", OTHER, {}, {"code__exists": False}),
    case_of(
        "python interpreter",
        "no interpreter",
        OTHER,
        {},
        {"python": {"command": "/opt/py/bin/python", "path": None}},
    ),
    case_of("python interpreter", "an interpreter that is too old", OTHER, {}, {"versions": {"python": "3.8.18"}}),
    case_of("torch installed", "an interpreter without torch", OTHER, {}, TORCHLESS),
    case_of(
        "torch installed",
        "torch that the ranks of another node may find elsewhere",
        OTHER,
        *[{"versions": NO_TORCH}] * 2,
        env={"node0": {"PYTHONPATH": "/opt"}},
    ),
    case_of(
        "torch installed",
        "torch that was looked for where the ranks look",
        HEAD,
        SEARCHED,
        env={"node0": {"PYTHONPATH": "/opt"}},
    ),
    script_case("no script", ["node1"], {}, MISSING),
    script_case("a script with another name", ["node1"], {}, MISSPELT),
    script_case("a script that cannot be read", ["node1"], {}, script(None, readable=False)),
    script_case("a script of which nothing is known", ["node1"], {}, {"files": {}}),
    script_case("scripts unlike the majority's", ["node1", "node3"], {}, script("3" * 64), {}, script("4" * 64), {}),
    script_case("in a tie the head is right", ["node1"], script("3" * 64), {}),
    script_case("a missing script is not an odd one, too", ["node1", "node2"], {}, MISSING, script("3" * 64)),
    *(
        case_of("files", f"a configuration of {name}", HEAD, config(text), launch=CONFIG)
        for name, text in NO_MAPPINGS.items()
    ),
    case_of(
        "files", "a configuration that is not text", {"node0": "warn"}, config(None), config("a: 1"), launch=CONFIG
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_does_not_agree_is_found(case: Case) -> None:
    findings = case.find()
    assert outcomes(findings) == case.outcomes
    assert all(text.isprintable() for text in lines(findings))


def test_a_healthy_cluster_agrees() -> None:
    nodes = cluster({}, {}, {})
    checks = ("node", "work directory", "code directory", "python interpreter", "torch installed", "slot", "code")
    assert [finding for check in checks for finding in wrong(check, nodes)] == []
    assert wrong("files", nodes, launch=SCRIPT) == check_config(nodes) == []


def test_two_work_directories_of_one_machine_are_two_nodes() -> None:
    assert wrong("node", cluster(SAME, SAME)) == []


def test_work_directories_without_identity_are_not_taken_for_one() -> None:
    assert wrong("node", cluster({"workdir__identity": None}, {"workdir__identity": None})) == []


@pytest.mark.parametrize("filesystem", ["nfs4", "virtiofs", "fuse.anything", "ext4", None])
def test_nodes_may_share_a_work_directory(filesystem: str | None) -> None:
    shared = {"workdir__filesystem": filesystem, "workdir__path": "/home/ann/muster"}
    assert wrong("work directory", cluster(shared, shared)) == []
    assert wrong("node", cluster(shared, shared)) == []


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (SAME, SAME, True),
        ({**SAME, "machine_id": None}, {**SAME, "machine_id": None}, True),
        (SAME, {**SAME, "boot_id": "other"}, False),
        (SAME, {**SAME, "machine_id": "other"}, False),
        ({**SAME, "boot_id": None}, {**SAME, "boot_id": None}, False),
    ],
)
def test_machine(first: dict[str, Any], second: dict[str, Any], same: bool) -> None:
    assert (machine("node0", facts(0, **first)) == machine("node1", facts(0, **second))) is same


def test_one_network_stack() -> None:
    net = facts_dict(0)["net"]
    assert share_network(cluster({}))
    assert share_network(cluster({**SAME, "net": net}, {**SAME, "net": net}))
    assert not share_network(cluster({}, {}))
    # Two containers of one machine: 127.0.0.1 is another one in each.
    assert not share_network(cluster(SAME, SAME))


def test_a_network_stack_is_known_by_its_namespace() -> None:
    net = facts_dict(0)["net"]
    # An interface came between the two readings.
    later = {**net, "addresses": [*net["addresses"], {"address": "172.17.0.1", "interface": "docker0"}]}
    host, other = {"namespace": "4026531840"}, {"namespace": "4026532300"}
    assert share_network(cluster({**SAME, "net": {**net, **host}}, {**SAME, "net": {**later, **host}}))
    assert not share_network(cluster({**SAME, "net": {**net, **host}}, {**SAME, "net": {**net, **other}}))


@pytest.mark.parametrize(
    "changes",
    [
        {"versions": None},
        {"versions": {**NO_TORCH, "site_packages": None}},
        {"versions": {**NO_TORCH, "site_packages": []}},
        {"versions": {**NO_TORCH, "torch": "2.6.0"}},
        {"versions": NO_TORCH, "python": {"command": "python3", "path": None}},
    ],
)
def test_torch_is_missed_only_where_it_could_be_looked_for(changes: dict[str, Any]) -> None:
    assert wrong("torch installed", cluster(changes)) == []


def test_torch_is_not_missed_where_the_ranks_look_elsewhere() -> None:
    assert wrong("torch installed", cluster(SEARCHED), {"node0": {"PYTHONPATH": "/srv"}}) == []


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "{}",
        '{"a": [1, 2]}',
        "%YAML 1.1\n---\na: !custom {b: 1}\n",
        "a: &x {b: 1}\nc:\n  <<: *x\n",
        "# only\na:\n",
        "\ufeffa: 1",
    ],
)
def test_a_mapping_is_fine_whatever_its_tags(text: str) -> None:
    assert check_config(cluster(config(text))) == []


@pytest.mark.parametrize(("name", "text"), [("a.toml", "[job]\nx = 1\n"), ("ds.json", '{\n\t"a": 1}'), ("a.py", None)])
def test_a_configuration_of_another_format_is_the_scripts_business(name: str, text: str | None) -> None:
    assert check_config(cluster(config(text, name))) == []
