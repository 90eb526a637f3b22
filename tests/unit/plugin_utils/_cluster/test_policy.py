# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the cluster's policy: read as the role has it, refused by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import NAMES, ClusterPolicy, check_alike
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError, lines
from ansible_collections.muster.train.tests.support.plan_parts import POLICY, read_policy

ROOT = Path(__file__).resolve().parents[4]
DEFAULTS = ROOT / "roles" / "launch" / "defaults" / "main.yml"


def refusal(**changes: Any) -> str:
    with pytest.raises(PlanError) as caught:
        read_policy({**POLICY, **changes})
    return str(caught.value)


def test_the_defaults_are_the_roles() -> None:
    defaults = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))
    assert set(NAMES) <= set(defaults)
    assert ClusterPolicy.read(defaults) == ClusterPolicy.read({}) == (ClusterPolicy(), [])


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


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("launch_stop_grace", "soon", "it is 'soon'; expected a whole number from 1 to 86400"),
        ("launch_abort_grace", 0, "it is 0; expected a whole number from 1 to 86400"),
        ("launch_join_timeout", True, "it is True; expected a whole number"),
        ("launch_lost_after", 5, "it is 5; expected 0 (never), or at least 6"),
        ("launch_lost_after", -1, "it is -1; expected a whole number from 0 to 86400"),
        ("launch_log_limit_mib", None, "it is not set; expected a whole number"),
        ("launch_collect_limit_mib", -1, "it is -1; expected a whole number from 0 to 1048576"),
        ("launch_collect_exclude", {"a": 1}, "it is {'a': 1}; expected a list of strings"),
        ("launch_shared_output_dir", "out", "it is 'out'; expected an absolute path on the nodes, or nothing"),
        ("launch_slot", "../a", "it is '../a'; expected 1 to 40 letters"),
        ("launch_starter", "cron", "it is 'cron'; expected one of auto, setsid, systemd"),
        ("launch_cwd", "home", "it is 'home'; expected one of code, run"),
        ("launch_runtime", "podman", "it is 'podman'; expected one of host, docker"),
        ("launch_compose_file", "-f", "it is '-f'; expected a path on the node"),
        ("launch_compose_service", "a b", "it is 'a b'; expected 1 to 40 letters"),
        ("launch_docker", [], "it is []; expected the command that runs Docker"),
        ("launch_docker", {"a": 1}, "it is {'a': 1}; expected a list of strings"),
        ("launch_port_range", "1-2", "it is '1-2'; expected FIRST-LAST"),
        ("launch_port_range", None, "it is not set; expected FIRST-LAST"),
        ("launch_head_address", "-x", "it is '-x'; expected an address"),
        ("launch_head_address", ["a"], "it is ['a']; expected an address"),
        ("launch_env", "A=1", "it is 'A=1'; expected a mapping"),
    ],
)
def test_refused_by_name(name: str, value: Any, expected: str) -> None:
    assert refusal(**{name: value}).startswith(f"cluster: {name}: {expected}")


def test_everything_is_refused_at_once() -> None:
    assert len(refusal(launch_stop_grace="x", launch_slot="", launch_env=None).splitlines()) == 3


def test_a_node_with_a_policy_of_its_own_is_named_with_both_values() -> None:
    changes: dict[str, Any] = {**POLICY, "launch_slot": "b", "launch_stop_grace": 90}
    assert lines(check_alike({"node0": POLICY, "node1": {}, "node2": changes})) == [
        "node2: launch_slot: it is 'b' for this node; expected 'default' as for the head, node0 "
        "(variables of the node); put it in group_vars, the same for all",
        "node2: launch_stop_grace: it is 90 for this node; expected 60 as for the head, node0 "
        "(variables of the node); put it in group_vars, the same for all",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_of_the_policy_is_compared(name: str) -> None:
    value = {"A": "1"} if name == "launch_env" else "other"
    [finding] = check_alike({"node0": POLICY, "node1": {name: value}})
    assert (finding.check, finding.node, finding.status) == (name, "node1", "fail")


def test_of_the_environment_only_what_differs_is_shown_and_no_secret() -> None:
    env = {"SAME": "1", "A": "x", "API_TOKEN": "open sesame"}
    policies: dict[str, dict[str, Any]] = {"node0": {"launch_env": {"SAME": 1, "B": "y"}}, "node1": {"launch_env": env}}
    [line] = lines(check_alike(policies))
    assert line == (
        "node1: launch_env: it is {'A': 'x', 'API_TOKEN': '…'} for this node; expected {'B': 'y'} as for the head, "
        "node0 (variables of the node); put it in group_vars, the same for all, "
        "and put node-specific variables in launch_node_env"
    )


def test_what_means_the_same_is_the_same() -> None:
    variables = {"launch_stop_grace": "60", "launch_env": {}, "launch_head_address": ""}
    assert check_alike({"node0": POLICY, "node1": variables, "node2": {}}) == []
    assert check_alike({}) == []
