# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the request refuses: parameters, an inventory, names of nodes; and what it takes beside that."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import display
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import named_in_templates
from ansible_collections.muster.train.tests.support.requests import RUN_ID, inventory, make, only_line, refused

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
    assert line.endswith("mode, page, output, run_id; also policy (launch_*, see roles/launch/README.md)")


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
    assert line == (
        "channels: unknown parameter (-e channels); it belongs to the verb launch; status takes run_id, all, output; "
        "also policy (launch_*, see roles/launch/README.md)"
    )


def test_ansible_s_own_and_documented_variables_pass() -> None:
    assert (
        make({"ansible_user": "ada", "launch_workdir": "/x", "launch_secrets": {"HF_TOKEN": "hunter2"}})["verb"]
        == "launch"
    )


def test_the_names_in_the_templates_of_an_inventory() -> None:
    hosts = [
        {"ansible_user": "{{ person }}", "text": "group", "env": {"A": ["{% if stage %}1{% endif %}"]}},
        {"own": "{{ own }}", "person": "x", "near": "{{ stages }}"},
    ]
    assert named_in_templates(["person", "group", "stage", "own", "stag"], hosts) == {"person", "stage"}


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


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"script_args": ["--name", "x-{epoch}"]}, "script_args: {epoch} in 'x-{epoch}'"),
        ({"script_args": "--name x-{epoch}"}, "script_args: {epoch} in 'x-{epoch}'"),
        ({"env": {"NAME": "{epoch}"}}, "env: {epoch} in '{epoch}'"),
    ],
)
def test_an_unknown_placeholder_is_refused_with_those_that_exist(parameters: dict[str, Any], where: str) -> None:
    assert only_line(parameters) == (
        f"{where} is not a placeholder; expected one of {{run_dir}}, {{output_dir}}, {{run_id}}, {{node_rank}}, "
        f"{{nnodes}}, {{master_addr}}, or {{{{epoch}}}} for the text {{epoch}} (-e {next(iter(parameters))})"
    )


def test_a_configuration_has_a_path_or_a_name() -> None:
    assert only_line({"config_name": "tiny"}, None, {"script": "train.py", "config": "c.yaml"}) == (
        "config_name: expected config or config_name, saw 'c.yaml' (cluster (launch_defaults)) and saw 'tiny' "
        "(-e config_name); give only one (an empty -e config= or -e config_name= removes the cluster's)"
    )
    assert only_line({"config_option": "none"}) == (
        "config_option: expected an option such as --config or --config=, or nothing, saw 'none' (-e config_option)"
    )
    assert only_line({"config_option": "--{x}"}).startswith("config_option: {x} in '--{x}' is not a placeholder; ")
