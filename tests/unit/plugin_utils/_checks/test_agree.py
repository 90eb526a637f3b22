# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what nodes must agree on, and what each must have."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._cluster.machines import machine, share_network
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, line, lines
from ansible_collections.muster.train.tests.support.plan_parts import facts, facts_dict, wrong

SAME = {"machine_id": "m", "boot_id": "b"}


def cluster(*changes: dict[str, Any]) -> dict[str, NodeFacts]:
    return {f"node{number}": facts(number, **change) for number, change in enumerate(changes)}


def statuses(findings: list[Finding]) -> list[tuple[str | None, str]]:
    return [(finding.node, finding.status) for finding in findings]


def script(sha256: str | None = "1" * 64, exists: bool = True, readable: bool = True) -> dict[str, Any]:
    file = {"path": "/home/ann/code/train.py", "exists": exists, "readable": readable, "sha256": sha256}
    return {"files": {"train.py": file}}


def check_script(nodes: dict[str, NodeFacts]) -> list[Finding]:
    return wrong("files", nodes, launch=Launch(files={"script": ("train.py", "-e script")}))


def check_config(nodes: dict[str, NodeFacts]) -> list[Finding]:
    return wrong("files", nodes, launch=Launch(files={"config": ("big.yaml", "-e config")}))


def test_a_healthy_cluster_agrees() -> None:
    nodes = cluster({}, {}, {})
    checks = ("node", "work directory", "code directory", "python interpreter", "torch installed", "slot", "code")
    assert [finding for check in checks for finding in wrong(check, nodes)] == []
    assert check_script(nodes) == check_config(nodes) == []


def test_two_names_for_one_work_directory_are_both_named() -> None:
    identity = facts_dict(0)["workdir"]["identity"]
    findings = wrong("node", cluster({}, {"workdir__identity": identity}, {}, {"workdir__identity": identity}))
    assert statuses(findings) == [("node1", "fail"), ("node3", "fail")]
    assert line(findings[0]).startswith(
        "node1: node: its work directory /home/ann/muster on host host1 is also used by node0; expected"
    )


def test_two_work_directories_of_one_machine_are_two_nodes() -> None:
    assert wrong("node", cluster(SAME, SAME)) == []


def test_work_directories_without_identity_are_not_taken_for_one() -> None:
    assert wrong("node", cluster({"workdir__identity": None}, {"workdir__identity": None})) == []


@pytest.mark.parametrize("filesystem", ["nfs4", "virtiofs", "fuse.anything", "ext4", None])
def test_nodes_may_share_a_work_directory(filesystem: str | None) -> None:
    shared = {"workdir__filesystem": filesystem, "workdir__path": "/home/ann/muster"}
    assert wrong("work directory", cluster(shared, shared)) == []
    assert wrong("node", cluster(shared, shared)) == []


def test_a_file_system_without_locks_is_named_with_the_kernels_words() -> None:
    lustre = {
        "workdir__filesystem": "lustre",
        "workdir__flock": False,
        "workdir__flock_error": "Function not implemented",
    }
    assert lines(wrong("work directory", cluster({"workdir__flock": True}, lustre))) == [
        "node1: work directory: flock(2) does not work in /home/ann/muster on lustre: Function not implemented; "
        "expected a file system with flock(2), whose locks show that a run is alive (flock(2), tried on a new file); "
        "set launch_workdir to a local disk, or mount the file system with locks (Lustre: -o flock)"
    ]


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


def test_directories() -> None:
    nodes = cluster({"workdir__writable": False}, {"code__exists": False})
    findings = [*wrong("work directory", nodes), *wrong("code directory", nodes)]
    assert statuses(findings) == [("node0", "fail"), ("node1", "fail")]
    assert "/home/ann/muster cannot be written by user ann" in line(findings[0])
    assert "launch_workdir" in str(findings[0].remedy)
    assert "/home/ann/code does not exist" in line(findings[1])
    assert "launch_code_dir" in str(findings[1].remedy)


def test_the_training_interpreter() -> None:
    findings = wrong("python interpreter", cluster({}, {"python": {"command": "/opt/py/bin/python", "path": None}}))
    assert statuses(findings) == [("node1", "fail")]
    assert line(findings[0]).startswith("node1: python interpreter: /opt/py/bin/python was not found; expected")
    assert "launch_python" in str(findings[0].remedy)


def test_a_training_interpreter_that_is_too_old_is_refused_with_its_version() -> None:
    [finding] = wrong("python interpreter", cluster({}, {"versions": {"python": "3.8.18"}}))
    assert line(finding).startswith("node1: python interpreter: ")
    assert "is Python 3.8.18; expected Python 3.9 or newer (launch_python)" in line(finding)


NO_TORCH = {"torch": None, "site_packages": ["/v/lib/python3.11/site-packages", "/opt/more"]}


def test_an_interpreter_without_torch() -> None:
    python = {"command": "v/bin/python", "path": "/home/ann/my v/bin/python"}
    findings = wrong("torch installed", cluster({}, {"python": python, "versions": NO_TORCH}))
    assert statuses(findings) == [("node1", "fail")]
    text = line(findings[0])
    assert text.startswith(
        "node1: torch installed: /home/ann/my v/bin/python has no torch "
        "(searched /v/lib/python3.11/site-packages and /opt/more)"
    )
    assert "(launch_python); install it there with '/home/ann/my v/bin/python' -m pip install torch, or set" in text


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
    both = cluster({"versions": NO_TORCH}, {"versions": NO_TORCH})
    assert statuses(wrong("torch installed", both, {"node0": {"PYTHONPATH": "/opt"}})) == [("node1", "fail")]
    searched = cluster({"versions": {**NO_TORCH, "python_path": "/opt"}})
    assert statuses(wrong("torch installed", searched, {"node0": {"PYTHONPATH": "/opt"}})) == [("node0", "fail")]
    assert wrong("torch installed", searched, {"node0": {"PYTHONPATH": "/srv"}}) == []


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (script(None, exists=False, readable=False), "/home/ann/code/train.py does not exist; expected"),
        (script(None, readable=False), "/home/ann/code/train.py is not a readable file; expected"),
        ({"files": {}}, "train.py does not exist; expected"),
    ],
)
def test_a_missing_file_names_node_path_and_what_to_do(state: dict[str, Any], text: str) -> None:
    findings = check_script(cluster({}, state))
    assert statuses(findings) == [("node1", "fail")]
    assert line(findings[0]).startswith(f"node1: files: {text}")
    assert "-e script=PATH" in str(findings[0].remedy)


def test_the_odd_nodes_are_named_against_the_majority() -> None:
    findings = check_script(cluster({}, script("3" * 64), {}, script("4" * 64), {}))
    assert statuses(findings) == [("node1", "fail"), ("node3", "fail")]
    assert line(findings[0]) == (
        "node1: files: train.py has sha256 333333333333…; expected the same file on every node, 111111111111… as on "
        "node0, node2 and node4 (-e script); copy train.py from node0, or bring the code to the same state everywhere"
    )


def test_in_a_tie_the_head_is_right() -> None:
    assert statuses(check_script(cluster(script("3" * 64), {}))) == [("node1", "fail")]


def test_a_missing_file_is_not_an_odd_one_too() -> None:
    assert statuses(check_script(cluster({}, script(None, exists=False, readable=False), script("3" * 64)))) == [
        ("node1", "fail"),
        ("node2", "fail"),
    ]


def config(text: str | None, name: str = "big.yaml") -> dict[str, Any]:
    return {"config": {"path": f"/home/ann/code/{name}", "text": text}}


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


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("a: b: c\n", "/home/ann/code/big.yaml:1:5: mapping values are not allowed here"),
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            "/home/ann/code/big.yaml:3:2: while parsing a flow sequence expected ',' or ']', but got ':'",
        ),
        ("a: 1\n\tb: 2\n", "/home/ann/code/big.yaml:2:1: while scanning for the next token found character '\\t' "),
        ("a: *unknown\n", "/home/ann/code/big.yaml:1:4: found undefined alias"),
        (
            "a: 1\n---\nb: 2\n",
            "/home/ann/code/big.yaml:2:1: expected a single document in the stream but found another document",
        ),
        ("a: \x00\n", "/home/ann/code/big.yaml: unacceptable character #x0000"),
        ("", "/home/ann/code/big.yaml is empty"),
        ("# nothing\n", "/home/ann/code/big.yaml is empty"),
        ("- a\n- b\n", "/home/ann/code/big.yaml holds a list, not a mapping"),
        ("just words\n", "/home/ann/code/big.yaml holds a single value, not a mapping"),
        ("[\n" * 2000, "/home/ann/code/big.yaml is nested too deeply"),
    ],
)
def test_a_configuration_that_is_not_a_yaml_mapping(text: str, observed: str) -> None:
    findings = check_config(cluster(config(text)))
    assert statuses(findings) == [("node0", "fail")]
    assert findings[0].observed.startswith(observed)
    assert "\n" not in line(findings[0])


@pytest.mark.parametrize(("name", "text"), [("a.toml", "[job]\nx = 1\n"), ("ds.json", '{\n\t"a": 1}'), ("a.py", None)])
def test_a_configuration_of_another_format_is_the_scripts_business(name: str, text: str | None) -> None:
    assert check_config(cluster(config(text, name))) == []


def test_a_configuration_that_is_not_text_is_only_a_warning() -> None:
    findings = check_config(cluster(config(None), config("a: 1")))
    assert statuses(findings) == [("node0", "warn")]
