# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the cluster's policy: read as the role has it, refused by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import (
    IMAGE,
    NAMES,
    ClusterPolicy,
    check_alike,
)
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.plan_parts import POLICY, read_policy

ROOT = Path(__file__).resolve().parents[4]
DEFAULTS = ROOT / "roles" / "launch" / "defaults" / "main.yml"


def refused(**changes: Any) -> list[Finding]:
    """The findings for which there is no such policy."""
    with pytest.raises(PlanError) as caught:
        read_policy({**POLICY, **changes})
    return caught.value.findings


def test_the_defaults_are_the_roles() -> None:
    defaults = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))
    assert set(NAMES) <= set(defaults)
    assert ClusterPolicy.read(defaults) == ClusterPolicy.read({}) == (ClusterPolicy(), [])


def test_no_run_is_ended_for_what_it_prints_by_default() -> None:
    assert ClusterPolicy().traceback_grace == 0


def test_the_ports_are_the_same_wherever_a_default_is_written() -> None:
    """Roles and documents cannot import the constant; Python has it in one place."""
    literal = "{}-{}".format(*DEFAULT_RANGE)
    written = [
        *("roles/launch/defaults/main.yml", "roles/launch/meta/argument_specs.yml", "roles/launch/README.md"),
        "inventories/template/group_vars/nodes.yml",
    ]
    vars_of_roles = [path.read_text(encoding="utf-8") for path in ROOT.glob("roles/*/vars/*.yml")]
    assert not [text for text in vars_of_roles if str(DEFAULT_RANGE[0]) in text]
    for path in written:
        ranges = re.findall(r"launch_port_range.*?([0-9]{4,5}-[0-9]{4,5})", (ROOT / path).read_text(encoding="utf-8"))
        assert set(ranges or [literal]) == {literal}, path
    python = [path for path in (ROOT / "plugins").rglob("*.py") if str(DEFAULT_RANGE[1]) in path.read_text()]
    assert {path.name.lstrip("_") for path in python} == {"ports.py", "firewall_plan.py"}


def test_names_are_all_that_is_compared() -> None:
    assert sorted(NAMES) == sorted(POLICY)


def test_numbers_may_be_text_as_ini_inventories_have_them() -> None:
    assert read_policy({**POLICY, "launch_stop_grace": "90"}).stop_grace == 90


REFUSED: list[tuple[str, Any]] = [
    ("launch_stop_grace", "soon"),
    ("launch_abort_grace", 0),
    ("launch_join_timeout", True),
    ("launch_lost_after", 2),
    ("launch_lost_after", -1),
    ("launch_log_limit_mib", None),
    ("launch_collect_limit_mib", -1),
    ("launch_collect_exclude", {"a": 1}),
    ("launch_shared_output_dir", "out"),
    ("launch_slot", "../a"),
    ("launch_starter", "cron"),
    ("launch_cwd", "home"),
    ("launch_runtime", "podman"),
    ("launch_compose_file", "-f"),
    ("launch_compose_service", "a b"),
    ("launch_docker", []),
    ("launch_docker", {"a": 1}),
    ("launch_apptainer", []),
    ("launch_image", "train.sif"),
    ("launch_binds", ["/scratch", "~/data:/data"]),
    ("launch_port_range", "1-2"),
    ("launch_port_range", None),
    ("launch_head_address", "-x"),
    ("launch_head_address", ["a"]),
    ("launch_env", "A=1"),
    ("launch_slurm_end", "in an hour"),
    ("launch_slurm_kill_wait", -1),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_refused_by_name(name: str, value: Any) -> None:
    assert outcomes(refused(**{name: value})) == [(name, None, "fail")]


def test_everything_is_refused_at_once() -> None:
    assert len(refused(launch_stop_grace="x", launch_slot="", launch_env=None)) == 3


OWN = {"node0": POLICY, "node1": {}, "node2": {**POLICY, "launch_slot": "b", "launch_stop_grace": 90}}


def test_a_node_with_a_policy_of_its_own_is_named() -> None:
    assert outcomes(check_alike(OWN)) == [(name, "node2", "fail") for name in ("launch_slot", "launch_stop_grace")]


def test_each_node_has_its_own_path_of_the_image() -> None:
    assert check_alike({"node0": POLICY, "node1": {IMAGE.name: "/scratch/train.sif"}}) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != IMAGE.name])
def test_every_variable_of_the_policy_is_compared(name: str) -> None:
    value = {"A": "1"} if name == "launch_env" else "other"
    [finding] = check_alike({"node0": POLICY, "node1": {name: value}})
    assert (finding.check, finding.node, finding.status) == (name, "node1", "fail")


ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "node0": {"launch_env": {"SAME": 1, "B": "y"}},
    "node1": {"launch_env": {"SAME": "1", "A": "x", "API_TOKEN": "open sesame"}},
}


def test_of_the_environment_only_what_differs_is_shown_and_no_secret() -> None:
    [finding] = check_alike(ENVIRONMENTS)
    shown = repr(finding)
    assert [word in shown for word in ("'A'", "API_TOKEN", "'B'", "SAME", "sesame")] == [True, True, True, False, False]


def test_what_means_the_same_is_the_same() -> None:
    variables = {"launch_stop_grace": "60", "launch_env": {}, "launch_head_address": ""}
    assert check_alike({"node0": POLICY, "node1": variables, "node2": {}}) == []
    assert check_alike({}) == []
