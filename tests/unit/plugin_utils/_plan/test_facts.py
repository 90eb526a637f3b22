# SPDX-License-Identifier: GPL-3.0-or-later
"""Which facts a plan asks a node for."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES
from ansible_collections.muster.train.plugins.plugin_utils._plan.facts import POLICY, facts_options
from ansible_collections.muster.train.plugins.plugin_utils._request.benchmark import SCRIPTS
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.requests import make

DEFAULTS = yaml.safe_load((ROOT / "roles" / "launch" / "defaults" / "main.yml").read_text(encoding="utf-8"))
MODULE = yaml.safe_load(
    (ROOT / "plugins" / "modules" / "node_facts.py")
    .read_text(encoding="utf-8")
    .split('DOCUMENTATION = r"""')[1]
    .split('"""')[0]
)


def options(given: dict[str, Any] | None = None, **policy: Any) -> dict[str, Any]:
    settings = values(make(given or {}, defaults={"script": "train.py"}))
    return facts_options("n1", settings, {**{name: DEFAULTS[name] for name in POLICY}, **policy})


def test_the_module_takes_all_options() -> None:
    every = options(
        {"config": "a.yml", "master_port": 29501},
        launch_env={"PYTHONPATH": "/x"},
        launch_runtime="docker",
        launch_head_address="head.lab",
    )
    assert set(every) <= {*MODULE["options"], "docker"}  # which a documentation fragment describes
    assert set(every["subset"]) <= set(CHOICES)


def test_defaults() -> None:
    plain = options()
    assert plain["files"] == ["train.py"]
    assert plain["ports"] == plain["names"] == []
    assert not {"python_path", "config", "compose_file"} & set(plain)
    assert "names" not in plain["subset"]


def test_the_script_is_read_where_the_host_runs_it_and_the_user_wrote_it() -> None:
    assert options()["script"] == "train.py"
    for asked in (options(launch_runtime="docker"), options({"script": SCRIPTS["pairs"]})):
        assert "script" not in asked


def test_the_ports_of_the_ranks_and_of_the_runners() -> None:
    assert options({"master_port": 29501})["ports"] == [29500, 29501]


def test_the_profiler_and_the_file_that_it_reads() -> None:
    asked = options({"rocprof": True, "rocprof_input": "c.yaml"})
    assert (asked["profiler"], asked["files"]) == ("rocprofv3", ["train.py", "c.yaml"])
    assert options({"nsys": True})["profiler"] == "nsys"
    off = options({"rocprof": False, "rocprof_input": "c.yaml"})
    assert ("profiler" in off, off["files"]) == (False, ["train.py"])


def test_files_that_a_launch_needs() -> None:
    given = {"config": "a.yml"}
    docker = options(given, launch_runtime="docker", launch_compose_file="/c.yml", launch_shared_output_dir="/mnt")
    assert docker["files"] == ["train.py", "a.yml", "/c.yml", "/mnt"]
    assert (docker["config"], docker["compose_file"]) == ("a.yml", "/c.yml")
    assert "/c.yml" not in options(launch_compose_file="/c.yml")["files"]


@pytest.mark.parametrize(
    ("given", "node", "cluster", "path"),
    [
        ({"PYTHONPATH": "/a"}, {"PYTHONPATH": "/b"}, {"PYTHONPATH": "/c"}, "/a"),
        ({"X": "1"}, {"PYTHONPATH": "/b"}, {"PYTHONPATH": "/c"}, "/b"),
        ({}, {}, {"PYTHONPATH": "/c"}, "/c"),
    ],
)
def test_the_highest_layer_of_the_environment_has_the_python_path(
    given: dict[str, str], node: dict[str, str], cluster: dict[str, str], path: str
) -> None:
    assert options({"env": given}, launch_node_env=node, launch_env=cluster)["python_path"] == path


@pytest.mark.parametrize(
    ("address", "names"), [("head.lab", ["head.lab"]), ("10.0.0.1", []), ("fd00::a", []), ("", [])]
)
def test_every_node_resolves_the_head_if_it_is_a_name(address: str, names: list[str]) -> None:
    asked = options(launch_head_address=address)
    assert (asked["names"], "names" in asked["subset"]) == (names, bool(names))
