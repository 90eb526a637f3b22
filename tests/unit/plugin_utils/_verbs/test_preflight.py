# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `preflight`: what a node is asked, what is concluded, and with which code."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES
from ansible_collections.muster.train.plugins.plugin_utils._verbs import preflight
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Tone, WantedFile
from ansible_collections.muster.train.tests.support.module_documentation import documented_options
from ansible_collections.muster.train.tests.support.preflight_parts import Facts, facts_of
from ansible_collections.muster.train.tests.support.sources import document
from ansible_collections.muster.train.tests.support.verbs import play_of

REQUEST: dict[str, Any] = {"defaults": {}, "first_port": 29400}


def registered(number: int = 0, **variables: Any) -> Facts:
    """A node's variables after node_facts."""
    facts = facts_of("laptop", number)
    facts["node"]["clock"] = {"wall": 4e9, "asked": 4e9, "synchronized": True}
    return {preflight.FACTS: {"ansible_facts": facts}, "ansible_host": f"10.99.0.{number + 1}", **variables}


def two_nodes(commit: str | None = None) -> dict[str, Facts]:
    """Two nodes that are alike, except for a commit of the second one."""
    hosts = {"node0": registered(), "node1": registered(1)}
    if commit:
        hosts["node1"][preflight.FACTS]["ansible_facts"]["node"]["code"]["commit"] = commit
    return hosts


def checked(
    hosts: dict[str, Facts], policy: dict[str, Any] | None = None, is_checked: bool = False, **parameters: Any
) -> Conclusion:
    play = play_of("preflight", hosts, parameters, policy)
    return preflight.check.conclusion(dataclasses.replace(play, is_checked=is_checked))


def asked(policy: dict[str, Any] | None = None, node: str = "node1", **request: Any) -> dict[str, Any]:
    """Return the options with which a node is asked; request is what the task of the request returned beside it."""
    hosts = {"node0": {"ansible_host": "10.99.0.1"}, "node1": {"ansible_host": "10.99.0.2"}}
    play = play_of("preflight", hosts, {}, policy, {**REQUEST, **request})
    return dict(preflight.gather_facts.options(play, node) or {})


@pytest.fixture(autouse=True)
def at_the_time_of_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 4e9)


def test_the_module_takes_all_options() -> None:
    every = asked(
        dict.fromkeys(preflight.OF_FACTS, "x"), defaults={"script": "a.py", "config": "a.yml", "master_port": 29500}
    )
    assert {*every} <= {*documented_options("node_facts")}
    assert {name.removeprefix("!") for name in every["subset"]} <= {*CHOICES}


def test_a_node_is_asked_as_for_a_launch_without_parameters() -> None:
    assert asked() == {
        "code_dir": document("roles/launch/defaults/main.yml")["launch_code_dir"],
        "node": "node1",
        "files": [],
        "ports": [],
        "images": [],
        "names": ["10.99.0.1"],
        "reach": ["10.99.0.1:29400"],
        "probe_disks": True,
        "asked_at": 4e9,
        "subset": ["all", "!tools", "!services"],
    }


@pytest.mark.parametrize(
    ("policy", "profiler"),
    [({}, "rocprofv3"), ({"launch_runtime": "host"}, "rocprofv3"), ({"launch_runtime": "docker"}, None)],
)
def test_a_profiler_of_the_defaults_is_looked_for_outside_of_containers(
    policy: dict[str, str], profiler: str | None
) -> None:
    options = asked(policy, defaults={"rocprof": True, "rocprof_input": "c.yaml"})
    assert (options.get("profiler"), options["files"]) == (profiler, ["c.yaml"])


@pytest.mark.parametrize(
    ("env", "policy", "path"),
    [
        ({"PYTHONPATH": "/a"}, {"launch_node_env": {"PYTHONPATH": "/b"}}, "/a"),
        ({}, {"launch_node_env": {"PYTHONPATH": "/b"}, "launch_env": {"PYTHONPATH": "/c"}}, "/b"),
        (None, {"launch_node_env": "", "launch_env": {"PYTHONPATH": "/c"}}, "/c"),
        ({}, {"launch_env": {"X": "1"}}, None),
    ],
)
def test_the_script_is_read_with_the_path_of_the_ranks(env: Any, policy: dict[str, Any], path: str | None) -> None:
    options = asked(policy, defaults={"script": "a.py", "env": env})
    assert (options["script"], options.get("python_path")) == ("a.py", path)
    assert "script" not in asked({"launch_runtime": "docker"}, defaults={"script": "a.py"})


def test_a_node_is_asked_for_what_the_policy_has() -> None:
    policy = {
        "launch_workdir": "/w",
        "launch_code_dir": "/c",
        "launch_python": "venv/bin/python",
        "launch_slot": "b",
        "launch_docker": ["podman"],
        "container_image": "train:1",
        "container_data_dirs": ["/data"],
        "preflight_as_root": ["sudo", "-n"],
    }
    options = asked(policy, defaults={"script": "train.py", "config": "a.yml", "master_port": 29500})
    assert options.items() >= {"workdir": "/w", "code_dir": "/c", "python": "venv/bin/python", "slot": "b"}.items()
    assert (options["docker"], options["images"], options["data_dirs"]) == (["podman"], ["train:1"], ["/data"])
    assert (options["files"], options["config"], options["ports"]) == (["train.py", "a.yml"], "a.yml", [29500])
    assert (options["as_root"], options["reach"]) == (["sudo", "-n"], ["10.99.0.1:29500"])


@pytest.mark.parametrize(
    ("address", "first_port", "names", "reach"),
    [
        ("", 29400, ["10.99.0.1"], ["10.99.0.1:29400"]),
        ("head.lab", 29400, ["head.lab"], ["head.lab:29400"]),
        ("fd00::1", 29400, ["fd00::1"], ["[fd00::1]:29400"]),
        # launch_port_range is not valid, which the checks report.
        ("head.lab", None, ["head.lab"], []),
    ],
)
def test_the_address_that_a_node_tries_to_reach(
    address: str, first_port: int | None, names: list[str], reach: list[str]
) -> None:
    options = asked({"launch_head_address": address}, first_port=first_port)
    assert (options["names"], options["reach"]) == (names, reach)


def test_a_head_without_an_address() -> None:
    play = play_of("preflight", {"node0": {}}, checked=REQUEST)
    options = preflight.gather_facts.options(play, "node0") or {}
    assert options["names"] == options["reach"] == []


def test_all_is_well() -> None:
    conclusion = checked(two_nodes())
    assert (conclusion.result, conclusion.failure) == ({"code": 0, "verdict": "preflight: no problem found"}, None)
    assert str(conclusion.lines[1]).startswith("preflight: 2 nodes, 2 answered; ")
    assert "failed" not in str(conclusion.lines[1])
    assert conclusion.files == []


def test_a_failed_check_fails_the_step_unless_the_playbook_ends_the_play() -> None:
    hosts, verdict = two_nodes(commit="b" * 40), "preflight: failed: code on node1"
    conclusion = checked(hosts)
    assert (str(conclusion.failure), conclusion.is_shown, conclusion.result["code"]) == (verdict, True, 1)
    assert "failed:" in conclusion.lines
    assert conclusion.lines[-1] == (verdict, Tone.ERROR)
    assert conclusion.document is not None
    assert [error["check"] for error in conclusion.document["errors"]] == ["code"]
    # The document has it already.
    assert conclusion.failure is not None and conclusion.failure.records() == []
    conclusion = checked(hosts, {preflight.STOP_ON: ["error"]})
    assert (conclusion.failure, conclusion.result) == (None, {"code": 1, "verdict": verdict})
    assert checked(hosts, {"preflight_levels": {"code": "warn"}}).result["code"] == 0


def test_a_silent_node_is_code_2() -> None:
    silent = {preflight.FACTS: {"unreachable": True, "msg": "Failed to connect: no\x1b[2J route to host"}}
    conclusion = checked({"node0": registered(), "node1": silent}, {preflight.STOP_ON: ["error"]})
    assert conclusion.failure is not None
    assert conclusion.result["code"] == 2
    assert all((line if isinstance(line, str) else line[0]).isprintable() for line in conclusion.lines)


def test_policy_that_is_not_valid_is_refused_by_name() -> None:
    conclusion = checked({"node0": registered()}, {"preflight_levels": {"clok": "warn"}, "launch_port_range": "29400"})
    assert (conclusion.result, conclusion.document, conclusion.lines) == ({"code": 2}, {"code": 2}, ())
    assert conclusion.failure is not None
    assert [record["check"] for record in conclusion.failure.records()] == ["launch_port_range", "preflight_levels"]
    assert "there is no check 'clok'; did you mean 'clock'?" in str(conclusion.failure)


def test_what_a_launch_would_set_by_default_is_checked() -> None:
    hosts = two_nodes()
    hosts["node0"]["launch_defaults"] = {"master_port": 29500, "mode": "rdma"}
    conclusion = checked(hosts)
    assert conclusion.document is not None
    failed = {error["check"] for error in conclusion.document["errors"]}
    assert "rdma ports" in failed
    assert "rdma ports" not in {error["check"] for error in (checked(hosts, mode="tcp").document or {})["errors"]}


def test_the_document_is_the_file() -> None:
    conclusion = checked(two_nodes(), {"preflight_json": "out/preflight.json"})
    [file] = conclusion.files
    assert (file.path, file.option, file.has_diff) == (Path("out/preflight.json"), "preflight_json", False)
    assert conclusion.document == {**json.loads(file.text), "errors": []}
    assert (conclusion.document["code"], conclusion.document["created"]) == (0, "2026-11-21T03:00:00Z")
    assert checked(two_nodes(), {"preflight_json": "out/preflight.json"}, is_checked=True).files == []


def test_the_page_is_written_where_it_is_requested() -> None:
    def page(hosts: dict[str, Facts]) -> WantedFile:
        [file] = checked(hosts, page="out/ready.html").files
        return file

    file = page(two_nodes())
    assert (file.path, file.note) == (Path("out/ready.html"), "\n  page: out/ready.html")
    assert "<title>Preflight of 2 nodes</title>" in file.text
    assert "2026-11-21T03:00:00Z · ansible-playbook muster.train.preflight" in file.text
    failed = page(two_nodes(commit="b" * 40))
    assert "Not ready for a launch: 1 check failed" in failed.text
    assert file.is_same is not None
    assert file.is_same(file.text.replace("2026-11-21", "2026-11-20"))
    assert not file.is_same(failed.text)
