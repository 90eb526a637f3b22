# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the request: precedence and origins, refusals, the inventory's checks, and hostile strings."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import display
from ansible_collections.muster.train.plugins.plugin_utils._request import verbs
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.request import (
    InvalidRequest,
    Request,
    Situation,
    command_line,
    make_request,
)

RUN_ID = "multinode_42ch_256th_20261120_143052"


def inventory(*names: str, limit: str | None = None) -> Inventory:
    return Inventory(tuple(InventoryHost(name) for name in names), ("/clusters/lab/hosts.yml",), limit)


SITUATION = Situation(
    now=datetime(2026, 11, 20, 14, 30, 52, tzinfo=UTC),
    nonce="0" * 32,
    experiments="/work/experiments",
    host="laptop",
    user="ada",
    argv=("/venv/bin/ansible-playbook", "launch.yml", "-e", "channels=42"),
    extra_vars_options=("channels=42",),
    versions={"muster": "0.1.0", "ansible_core": "2.19.14", "python": "3.11.7"},
    policy=(),
    collections=None,
)


def make(
    extra_vars: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    defaults: object = None,
    *,
    verb: str = "launch",
    documented: frozenset[str] = frozenset({"launch_workdir", "launch_secrets"}),
    nodes: Inventory | None = None,
    script: bool = True,
    situation: Situation = SITUATION,
    earlier: object = None,
) -> Request:
    if script and verb == "launch" and defaults is None:
        defaults = {"script": "train.py"}
    return make_request(
        verb,
        extra_vars=extra_vars or {},
        environment=environment or {},
        defaults=defaults if defaults is not None else {},
        documented=documented,
        inventory=nodes or inventory("node0", "node1"),
        situation=situation,
        earlier=earlier,
    )


def refused(*args: Any, **kwargs: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidRequest) as caught:
        make(*args, **kwargs)
    assert all(line and line.isprintable() for line in caught.value.lines)
    assert str(caught.value) == "\n".join(caught.value.lines)
    return caught.value.lines


def only_line(*args: Any, **kwargs: Any) -> str:
    lines = refused(*args, **kwargs)
    assert len(lines) == 1, lines
    return lines[0]


# The shape


def test_the_whole_request() -> None:
    request: dict[str, Any] = {**make({"channels": "42", "threads": 256, "label": "base"})}
    parameters = request.pop("parameters")
    assert request == {
        "schema": 1,
        "verb": "launch",
        "run_id": RUN_ID + "_base_0000",
        "nonce": "0" * 32,
        "created": "2026-11-20T14:30:52Z",
        "nodes": ["node0", "node1"],
        "spares": [],
        "hosts": "nodes",
        "experiment": f"/work/experiments/{RUN_ID}_base_0000",
        "experiments": "/work/experiments",
        "controller": {"host": "laptop", "user": "ada"},
        "command": "ansible-playbook launch.yml -e channels=42",
        "call": "ansible-playbook",
        "options": [],
        "versions": {"muster": "0.1.0", "ansible_core": "2.19.14", "python": "3.11.7"},
    }
    assert parameters == {
        "channels": {"value": 42, "origin": "-e channels", "layer": "extra_vars"},
        "threads": {"value": 256, "origin": "-e threads", "layer": "extra_vars"},
        "nproc": {"value": None, "origin": "default", "layer": "default"},
        "nnodes": {"value": None, "origin": "default", "layer": "default"},
        "config": {"value": None, "origin": "default", "layer": "default"},
        "script": {"value": "train.py", "origin": "cluster (launch_defaults)", "layer": "cluster"},
        "module": {"value": None, "origin": "default", "layer": "default"},
        "script_args": {"value": [], "origin": "default", "layer": "default"},
        "launcher": {"value": "torchrun", "origin": "default", "layer": "default"},
        "label": {"value": "base", "origin": "-e label", "layer": "extra_vars"},
        "master_port": {"value": None, "origin": "default", "layer": "default"},
        "max_restarts": {"value": 0, "origin": "default", "layer": "default"},
        "env": {"value": {}, "origin": "default", "layer": "default"},
        "follow": {"value": True, "origin": "default", "layer": "default"},
        "time_limit": {"value": None, "origin": "default", "layer": "default"},
        "mode": {"value": "auto", "origin": "default", "layer": "default"},
        "run_id": {"value": None, "origin": "default", "layer": "default"},
    }


def test_two_requests_share_nothing() -> None:
    env = make()["parameters"]["env"]["value"]
    assert isinstance(env, dict)
    env["X"] = "1"
    assert make()["parameters"]["env"]["value"] == {}


def test_environment_variables_precede_the_command() -> None:
    request = make(
        {"channels": 42}, {"CHANNELS": "8", "THREADS": "256", "LABEL": "", "CONFIG_FILE": "my c.yml", "HOME": "/"}
    )
    assert request["command"] == "THREADS=256 CONFIG_FILE='my c.yml' ansible-playbook launch.yml -e channels=42"
    assert make(verb="status", environment={"THREADS": "256"})["command"] == make()["command"]


def test_how_the_next_command_is_called() -> None:
    argv = ("/venv/bin/ansible-playbook", "-i", "labs/a b", "/muster/launch.yml", "-e", "channels=42")
    elsewhere = replace(SITUATION, argv=argv, collections="/muster/collections")
    assert make(situation=elsewhere)["call"] == (
        "ANSIBLE_COLLECTIONS_PATH=/muster/collections ansible-playbook -i 'labs/a b'"
    )
    assert make(situation=elsewhere)["options"] == ["-i", "labs/a b"]
    assert make(situation=elsewhere, verb="status")["call"] == make(situation=elsewhere)["call"]


def test_a_given_run_id_is_kept() -> None:
    request = make({"run_id": RUN_ID, "channels": 7})
    assert request["run_id"] == RUN_ID
    assert request["experiment"] == f"/work/experiments/{RUN_ID}"


def plan_of(request: Request) -> dict[str, Any]:
    """What is kept of a request in the plan: all that a second launch by the same run id looks at."""
    return {"run_id": request["run_id"], "parameters": request["parameters"]}


def test_a_relaunched_run_keeps_its_parameters() -> None:
    first = make({"channels": 42, "label": "base", "env": {"A": "1"}, "follow": False}, {"THREADS": "256"})
    again = make({"run_id": first["run_id"], "env": {"A": "2"}}, {"CONFIG_FILE": "c.yml"}, earlier=plan_of(first))
    assert again["run_id"] == first["run_id"]
    given = {name: item for name, item in again["parameters"].items() if item["origin"] != "default"}
    assert given == {
        "channels": {"value": 42, "origin": "-e channels, as in the run's plan", "layer": "earlier"},
        "threads": {"value": 256, "origin": "environment THREADS, as in the run's plan", "layer": "earlier"},
        "label": {"value": "base", "origin": "-e label, as in the run's plan", "layer": "earlier"},
        "config": {"value": "c.yml", "origin": "environment CONFIG_FILE", "layer": "environment"},
        "env": {"value": {"A": "2"}, "origin": "-e env", "layer": "extra_vars"},
        "script": {"value": "train.py", "origin": "cluster (launch_defaults)", "layer": "cluster"},
        "run_id": {"value": first["run_id"], "origin": "-e run_id", "layer": "extra_vars"},
    }
    third = make({"run_id": first["run_id"]}, earlier=plan_of(again))
    assert third["parameters"]["label"] == {
        "value": "base",
        "origin": "-e label, as in the run's plan",
        "layer": "earlier",
    }
    assert third["parameters"]["env"] == {
        "value": {"A": "2"},
        "origin": "-e env, as in the run's plan",
        "layer": "earlier",
    }


def test_an_empty_value_clears_the_plan_s_on_a_relaunch() -> None:
    first = make({"label": "base", "script_args": ["--x"]})
    again = make({"run_id": first["run_id"], "label": "", "script_args": []}, earlier=plan_of(first))
    assert again["parameters"]["label"] == {"value": None, "origin": "-e label", "layer": "extra_vars"}
    assert again["parameters"]["script_args"] == {"value": [], "origin": "-e script_args", "layer": "extra_vars"}


def test_another_program_does_not_get_the_plan_s_arguments() -> None:
    cluster = {"script": "train.py", "config": "c.yml", "script_args": ["--x"]}
    first = make({"module": "mine", "script_args": ["--y"]}, defaults=cluster)
    again = make({"run_id": first["run_id"]}, defaults=cluster, earlier=plan_of(first))
    kept = {name: again["parameters"][name]["value"] for name in ("script", "module", "config", "script_args")}
    assert kept == {"script": None, "module": "mine", "config": None, "script_args": ["--y"]}
    other = make({"run_id": first["run_id"], "script": "b.py"}, defaults=cluster, earlier=plan_of(first))
    kept = {name: other["parameters"][name]["value"] for name in ("script", "module", "config", "script_args")}
    assert kept == {"script": "b.py", "module": None, "config": None, "script_args": []}


@pytest.mark.parametrize(
    "earlier",
    [
        [],
        "text",
        {"parameters": 3},
        {"parameters": {"channels": 7}},
        {"parameters": {"channels": {"value": 7}}},
        {
            "parameters": {
                "channels": {"value": 7, "origin": None},
                "gone": {"value": 1, "origin": "-e gone", "layer": "extra_vars"},
            }
        },
    ],
)
def test_an_invalid_plan_is_ignored(earlier: object) -> None:
    assert make({"run_id": RUN_ID}, earlier=earlier) == make({"run_id": RUN_ID})


def test_a_plan_s_values_are_checked_too() -> None:
    earlier = {"parameters": {"channels": {"value": 1000, "origin": "-e channels", "layer": "extra_vars"}}}
    assert only_line({"run_id": RUN_ID}, earlier=earlier) == (
        "channels: expected a whole number from 1 to 128, saw 1000 (-e channels, as in the run's plan)"
    )


def test_unset_channels_and_threads_appear_as_auto() -> None:
    assert make()["run_id"] == "multinode_autoch_autoth_20261120_143052_0000"


@pytest.mark.parametrize(
    ("verb", "names"), [("status", {"run_id"}), ("logs", {"run_id", "lines", "node", "rank"}), ("stop", {"run_id"})]
)
def test_the_other_verbs_have_the_same_fields(verb: str, names: set[str]) -> None:
    request = make(verb=verb)
    assert request.keys() == make().keys()
    assert (request["verb"], request["run_id"], request["experiment"], request["nonce"]) == (verb, None, None, None)
    assert request["parameters"].keys() == names
    assert make({"run_id": RUN_ID}, verb=verb)["experiment"] == f"/work/experiments/{RUN_ID}"


def test_other_verbs_leave_launch_defaults_and_the_environment_alone() -> None:
    request = make(environment={"LABEL": "x y", "CHANNELS": "none"}, defaults={"wrong": 1}, verb="status")
    assert request["parameters"] == {"run_id": {"value": None, "origin": "default", "layer": "default"}}


def test_logs_of_a_node() -> None:
    assert make({"node": "node1"}, verb="logs")["parameters"]["node"]["value"] == "node1"
    line = only_line({"node": "node7"}, verb="logs")
    assert line == "node: expected one of node0, node1, saw 'node7' (-e node)"


# Precedence


def test_extra_vars_win_over_the_environment_and_that_over_the_cluster() -> None:
    environment = {
        "CHANNELS": "28",
        "THREADS": "512",
        "CONFIG_FILE": "a.yaml",
        "NPROC_PER_NODE": "4",
        "LABEL": "env",
        "MASTER_PORT": "29500",
    }
    request = make({"channels": "42"}, environment, {"script": "t.py", "channels": 1, "threads": 64, "mode": "tcp"})
    settings = {
        name: (p["value"], p["origin"]) for name, p in request["parameters"].items() if p["origin"] != "default"
    }
    assert settings == {
        "channels": (42, "-e channels"),
        "threads": (512, "environment THREADS"),
        "config": ("a.yaml", "environment CONFIG_FILE"),
        "nproc": (4, "environment NPROC_PER_NODE"),
        "label": ("env", "environment LABEL"),
        "master_port": (29500, "environment MASTER_PORT"),
        "mode": ("tcp", "cluster (launch_defaults)"),
        "script": ("t.py", "cluster (launch_defaults)"),
    }


def test_an_empty_environment_variable_is_unset() -> None:
    assert make(environment={"CHANNELS": "", "LABEL": ""})["parameters"]["channels"] == {
        "value": None,
        "origin": "default",
        "layer": "default",
    }


def test_empty_text_and_null_clear_the_cluster_s_value() -> None:
    defaults = {"script": "t.py", "config": "c.yaml", "channels": 8, "launcher": "torchrun", "env": {"A": "1"}}
    request = make({"config": "", "channels": None, "env": ""}, {"CHANNELS": "9"}, defaults)
    assert request["parameters"]["config"] == {"value": None, "origin": "-e config", "layer": "extra_vars"}
    assert request["parameters"]["channels"] == {"value": None, "origin": "-e channels", "layer": "extra_vars"}
    assert request["parameters"]["env"] == {"value": {}, "origin": "-e env", "layer": "extra_vars"}


def test_an_empty_number_is_refused() -> None:
    assert only_line({"channels": ""}) == "channels: expected a whole number from 1 to 128, saw '' (-e channels)"


def test_another_script_drops_the_cluster_s_config_and_arguments() -> None:
    defaults = {"script": "example.py", "config": "example.yaml", "script_args": ["--steps", "5"], "nproc": 2}
    request = make({"script": "mine.py"}, None, defaults)
    assert request["parameters"]["script"] == {"value": "mine.py", "origin": "-e script", "layer": "extra_vars"}
    assert request["parameters"]["config"] == {"value": None, "origin": "default", "layer": "default"}
    assert request["parameters"]["script_args"] == {"value": [], "origin": "default", "layer": "default"}
    assert request["parameters"]["nproc"]["value"] == 2
    kept = make({"script": "mine.py", "config": "mine.yaml"}, None, defaults)
    assert kept["parameters"]["config"] == {"value": "mine.yaml", "origin": "-e config", "layer": "extra_vars"}
    from_environment = make({"script": "mine.py"}, {"CONFIG_FILE": "env.yaml"}, defaults)
    assert from_environment["parameters"]["config"]["value"] == "env.yaml"


def test_a_module_wins_over_the_cluster_s_script() -> None:
    request = make({"module": "pkg.train"}, None, {"script": "example.py"})
    assert request["parameters"]["module"]["value"] == "pkg.train"
    assert request["parameters"]["script"] == {"value": None, "origin": "default", "layer": "default"}


# Refusals


@pytest.mark.parametrize("value", ["abc", "0", 0, True, "4.5"])
def test_bad_channels_are_one_clear_line(value: object) -> None:
    assert (
        only_line({"channels": value})
        == f"channels: expected a whole number from 1 to 128, saw {value!r} (-e channels)"
    )


def test_the_line_names_the_environment_and_the_cluster() -> None:
    assert only_line(environment={"CHANNELS": "many"}).endswith("saw 'many' (environment CHANNELS)")
    assert only_line(defaults={"script": "t.py", "threads": 100}).endswith("saw 100 (cluster (launch_defaults))")


def test_an_unknown_parameter_is_named_with_the_nearest_and_the_allowed() -> None:
    line = only_line({"chanels": "42"})
    assert line.startswith(
        "chanels: unknown parameter (-e chanels); did you mean 'channels'? launch takes channels, threads, nproc, "
    )
    assert line.endswith("mode, run_id")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CHANNELS", "channels"),
        ("nproc_per_node", "nproc"),
        ("timeout", "time_limit"),
        ("config_file", "config"),
        ("lable", "label"),
        ("launch_workdirr", "launch_workdir"),
    ],
)
def test_the_suggestion(name: str, meant: str) -> None:
    assert f"did you mean '{meant}'?" in only_line({name: "1"})


@pytest.mark.parametrize("name", ["zzzzqqqq", "foo", "batch_size", "epochs", "lr"])
def test_no_suggestion_where_nothing_is_near(name: str) -> None:
    assert "did you mean" not in only_line({name: "1"})


@pytest.mark.parametrize(
    ("value", "example"),
    [
        ("FOO=bar", '{"env": {"FOO": "bar"}}'),
        ("A=1=2 ", '{"env": {"A": "1=2 "}}'),
        ("FOO=it's", '{"env": {"FOO": "bar"}}'),
        ("nonsense", '{"env": {"FOO": "bar"}}'),
        (3, '{"env": {"FOO": "bar"}}'),
    ],
)
def test_an_environment_must_be_a_mapping_and_the_refusal_has_an_example(value: object, example: str) -> None:
    assert only_line({"env": value}) == (
        f"env: expected a mapping of names to values, such as -e '{example}', saw {value!r} (-e env)"
    )


def test_a_parameter_of_launch_given_to_another_verb() -> None:
    line = only_line({"channels": "42"}, verb="status")
    assert line == "channels: unknown parameter (-e channels); it belongs to the verb launch; status takes run_id"


def test_ansible_s_own_and_documented_variables_pass() -> None:
    assert (
        make({"ansible_user": "ada", "launch_workdir": "/x", "launch_secrets": {"HF_TOKEN": "hunter2"}})["verb"]
        == "launch"
    )


def test_loose_words_among_the_extra_vars() -> None:
    line = only_line({"label": "two", "_raw_params": "words"})
    assert line.startswith("-e: 'words' is not NAME=VALUE")
    assert "quote" in line


def test_unknown_key_in_launch_defaults() -> None:
    line = only_line(defaults={"script": "t.py", "chanels": 1})
    assert line.startswith(
        "chanels: unknown parameter (cluster (launch_defaults)); did you mean 'channels'? launch takes "
    )


def test_a_run_id_for_the_whole_cluster_is_refused() -> None:
    assert only_line(defaults={"script": "t.py", "run_id": RUN_ID}) == (
        "run_id: belongs to one run and is not allowed in the cluster's launch_defaults; give -e run_id"
    )


def test_launch_defaults_must_be_a_mapping() -> None:
    assert "launch_defaults: expected a mapping of launch parameters, saw ['channels']" in refused(
        defaults=["channels"]
    )


def test_everything_wrong_is_reported_at_once() -> None:
    lines = refused({"channels": "abc", "threads": "0", "wat": 1, "nnodes": 9}, {"MASTER_PORT": "80"}, {"mode": "ib"})
    assert [line.split(":")[0] for line in lines] == [
        "wat",
        "channels",
        "threads",
        "master_port",
        "mode",
        "nnodes",
        "script",
    ]


def test_neither_script_nor_module() -> None:
    line = only_line(script=False)
    assert line.startswith("script: neither a script nor a module is given")


def test_an_invalid_script_is_not_also_reported_missing() -> None:
    assert only_line({"script": "-c"}, script=False).startswith("script: expected a path")


def test_script_and_module_exclude_each_other() -> None:
    line = only_line({"script": "a.py", "module": "a"})
    assert (
        line
        == "script: expected a script or a module, saw 'a.py' (-e script) and saw 'a' (-e module); give one of them"
    )


def test_the_python_launcher_starts_one_rank_a_node() -> None:
    line = only_line({"launcher": "python"}, None, {"script": "t.py", "nproc": 2})
    assert line == (
        "nproc: the launcher python starts one rank per node, expected 1, saw 2 (cluster (launch_defaults)); "
        "give -e nproc=1 or -e launcher=torchrun"
    )
    assert make({"launcher": "python"})["parameters"]["nproc"] == {"value": 1, "origin": "default", "layer": "default"}
    assert make({"launcher": "python", "nproc": "1"})["parameters"]["nproc"] == {
        "value": 1,
        "origin": "-e nproc",
        "layer": "extra_vars",
    }


# The inventory


def test_nnodes_cuts_the_nodes() -> None:
    three = inventory("a", "b", "c")
    assert [make({"nnodes": n}, nodes=three)["nodes"] for n in (1, 2, 3)] == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert [make({"nnodes": n}, nodes=three)["hosts"] for n in (1, 2, 3)] == ["nodes[0:0]", "nodes[0:1]", "nodes"]


def test_more_nodes_than_there_are() -> None:
    line = only_line({"nnodes": 3})
    assert line == (
        "nnodes: expected at most 2, the size of the group 'nodes', saw 3 (-e nnodes); "
        "add nodes to the inventory or give fewer"
    )


@pytest.mark.parametrize("verb", ["launch", "status", "logs", "stop", "collect"])
def test_no_nodes(verb: str) -> None:
    line = only_line(verb=verb, nodes=inventory())
    assert line == (
        "inventory: the group 'nodes' is missing or empty (read: /clusters/lab/hosts.yml); "
        "give -i inventories/<cluster>, or run from the checkout, whose ansible.cfg names a cluster"
    )


def test_no_inventory_at_all() -> None:
    assert "(read: no inventory)" in only_line(nodes=Inventory((), (), None), script=False)


def test_list_needs_no_nodes() -> None:
    assert make(verb="list", nodes=inventory())["nodes"] == []


@pytest.mark.parametrize("verb", ["launch", "stop", "list"])
def test_limit_is_refused(verb: str) -> None:
    line = only_line(verb=verb, nodes=inventory("node0", limit="node0,localhost"))
    assert line.startswith("--limit: expected none, saw 'node0,localhost'; ")
    assert ("nnodes" in line) is (verb == "launch")
    assert ("-e node=NAME" in line) is (verb == "logs")


@pytest.mark.parametrize(
    "pair",
    [
        (InventoryHost("a", "10.0.0.1"), InventoryHost("b", "10.0.0.1")),
        (InventoryHost("a", "10.0.0.1", 22), InventoryHost("b", "10.0.0.1")),
        (InventoryHost("a", "10.0.0.1", "2222"), InventoryHost("b", "10.0.0.1", 2222)),
        (InventoryHost("a"), InventoryHost("b", "a")),
        (InventoryHost("a", "Head.Example"), InventoryHost("b", "head.example")),
    ],
)
def test_two_names_for_one_machine(pair: tuple[InventoryHost, InventoryHost]) -> None:
    line = only_line(nodes=Inventory(pair, (), None))
    assert line.startswith("inventory: a and b are the same machine (")
    assert "one of its names" in line


@pytest.mark.parametrize(
    "pair",
    [
        (InventoryHost("a", "10.0.0.1", 2201), InventoryHost("b", "10.0.0.1", 2202)),
        (InventoryHost("a", "10.0.0.1"), InventoryHost("b", "10.0.0.2")),
        (InventoryHost("node0"), InventoryHost("node1")),
    ],
)
def test_two_machines(pair: tuple[InventoryHost, InventoryHost]) -> None:
    assert make(nodes=Inventory(pair, (), None))["nodes"] == [pair[0].name, pair[1].name]


def test_duplicate_names_do_not_prevent_a_stop() -> None:
    assert (
        make(verb="stop", nodes=Inventory((InventoryHost("a", "x"), InventoryHost("b", "x")), (), None))["hosts"]
        == "nodes"
    )


def test_a_launch_separates_spares_and_other_verbs_do_not() -> None:
    inventory = Inventory((InventoryHost("a"), InventoryHost("b"), InventoryHost("c")), (), None, (InventoryHost("s"),))
    launch = make({"nnodes": 2}, nodes=inventory)
    assert (launch["nodes"], launch["spares"], launch["hosts"]) == (["a", "b"], ["s"], "nodes[0:1]:spares")
    status = make(verb="status", nodes=inventory)
    assert (status["nodes"], status["spares"], status["hosts"]) == (["a", "b", "c", "s"], [], "nodes:spares")
    logs = make({"node": "s"}, verb="logs", nodes=inventory)
    assert logs["parameters"]["node"]["value"] == "s"


def test_a_host_is_a_node_or_a_spare() -> None:
    line = only_line(nodes=Inventory((InventoryHost("a"), InventoryHost("b")), (), None, (InventoryHost("b"),)))
    assert line == "inventory: b: in both groups 'nodes' and 'spares'; keep each in one of them"
    line = only_line(nodes=Inventory((InventoryHost("a", "x"),), (), None, (InventoryHost("b", "x"),)))
    assert line.startswith("inventory: a and b are the same machine (x port 22)")


@pytest.mark.parametrize(
    "name", ["node/0", "..", "-x", "node 0", "node;id", "$(id)", "fe80::1", "x" * 254, "nœud", "a\n", ".hidden", "a."]
)
def test_node_names_that_are_not_valid_file_names(name: str) -> None:
    assert only_line(nodes=inventory(name, "ok")).startswith(f"inventory: {display(name)} is not a valid node name")


@pytest.mark.parametrize("name", ["gpu-01.example.org", "10.0.0.1", "gpu_1", "N0", "x" * 253])
def test_names_of_nodes(name: str) -> None:
    assert make(nodes=inventory(name))["nodes"] == [name]


# The command


@pytest.mark.parametrize(
    ("argv", "options", "expected"),
    [
        (["/x/ansible-playbook", "l.yml", "-e", "label=a;b"], ["label=a;b"], "ansible-playbook l.yml -e 'label=a;b'"),
        (["ap", "-e", "launch_secrets={'A':'hunter2'}"], ["launch_secrets={'A':'hunter2'}"], "ap -e '<redacted>'"),
        (["ap", "--extra-vars=hf_token=hunter2"], ["hf_token=hunter2"], "ap '--extra-vars=<redacted>'"),
        (["ap", "-ehf_token=hunter2", "-vve", "x=1"], ["hf_token=hunter2", "x=1"], "ap '-e<redacted>' -vve x=1"),
        (["ap", "-e", "ansible_become_pass=hunter2"], ["ansible_become_pass=hunter2"], "ap -e '<redacted>'"),
        (["ap", "-e", "@launch_secrets.yml"], ["@launch_secrets.yml"], "ap -e @launch_secrets.yml"),
        (["ap", "--vault-password-file=f", "-e", "a=1"], ["a=1"], "ap --vault-password-file=f -e a=1"),
    ],
)
def test_the_command_line_keeps_no_secret(argv: list[str], options: list[str], expected: str) -> None:
    assert command_line(argv, options) == expected


# Hostile strings: refused by the field's name or kept to the letter, never altered

HOSTILE = [
    "; id",
    "x; rm -rf ~",
    "$(id)",
    "`id`",
    "${IFS}id",
    "a && id",
    "a || id",
    "| id",
    "> /tmp/f",
    "a\nid",
    "a\r\nid",
    "a\0b",
    "a\tb",
    "\x1b]0;title\x07",
    "\x7f",
    "a\u2028b",
    "\udcff",
    "{{ lookup('pipe', 'id') }}",
    "{% for x in range(9) %}{{ x }}{% endfor %}",
    "{# #}",
    "'; id; '",
    '"; id; "',
    "'unbalanced",
    "--config=/etc/passwd",
    "-c import os",
    "../../../../etc/passwd",
    "/dev/null",
    "*",
    "?[a-z]",
    "~root/x",
    "%s%n%x",
    "\\x41\\n",
    "a=b",
    "a,b",
    "!unsafe x",
    "&anchor",
    "null",
    "true",
    "é ü 漢字",
    "x" * 300,
]
FIELDS = [name for name in (p.name for p in verbs.VERBS["launch"]) if name not in ("script_args", "env")]
UNPRINTABLE = "\n\r\0\t\x1b\x07\x7f\u2028\udcff"


def kept_or_refused(name: str, literal: object, *args: Any, **kwargs: Any) -> None:
    """Either one line that begins with the parameter's name, or the value to the letter."""
    try:
        value, lines = make(*args, **kwargs)["parameters"][name]["value"], None
    except InvalidRequest as refusal:
        value, lines = None, refusal.lines
    if lines is None:
        assert value == literal
    else:
        assert len(lines) == 1
        assert lines[0].startswith(f"{name}: ")
        assert lines[0].isprintable()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", FIELDS)
def test_hostile_text_in_every_parameter(name: str, text: str) -> None:
    literal = True if name == "follow" else text
    kept_or_refused(name, literal, {name: text}, script=name not in ("script", "module"))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("variable", "name"), [("LABEL", "label"), ("CONFIG_FILE", "config"), ("CHANNELS", "channels")]
)
def test_hostile_text_in_the_environment(variable: str, name: str, text: str) -> None:
    kept_or_refused(name, text, environment={variable: text})


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["script", "config"])
def test_paths_keep_everything_that_is_printable(name: str, text: str) -> None:
    if any(c in text for c in UNPRINTABLE) or text.startswith("-"):
        assert only_line({name: text}).startswith(f"{name}: expected a path")
    else:
        assert make({name: text})["parameters"][name]["value"] == text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_script_args_and_env(text: str) -> None:
    for name, value in (("script_args", ["--x", text]), ("env", {"X": text})):
        if any(c in text for c in UNPRINTABLE):
            assert only_line({name: value}).startswith(f"{name}: ")
        else:
            assert make({name: value})["parameters"][name]["value"] == value
    assert only_line({"env": {text + " ": "1"}}).startswith("env: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_as_one_string_of_script_args(text: str) -> None:
    try:
        literal = shlex.split(text)
    except ValueError:
        literal = []
    kept_or_refused("script_args", literal, {"script_args": text})


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("verb", ["status", "logs", "stop", "collect", "list"])
def test_hostile_run_ids(verb: str, text: str) -> None:
    assert only_line({"run_id": text}, verb=verb).startswith("run_id: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_of_parameters(text: str) -> None:
    assert "unknown parameter" in only_line({text: "1"})
