# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the request: its shape, a run that is launched again, and which source of a value wins."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory
from ansible_collections.muster.train.plugins.plugin_utils._request.request import Request, command_again
from ansible_collections.muster.train.tests.support.requests import RUN_ID, inventory, make
from ansible_collections.muster.train.tests.support.words import without_words

# The shape


GIVEN = {"channels": 42, "threads": 256, "label": "base"}


def test_the_whole_request() -> None:
    request: dict[str, Any] = {**make({**GIVEN, "channels": "42"})}
    parameters = request.pop("parameters")
    assert request == {
        "schema": 1,
        "verb": "launch",
        "run_id": RUN_ID + "_base_0000",
        "nonce": "0" * 32,
        "created": "2026-11-20T14:30:52Z",
        "cluster": "lab",
        "nodes": ["node0", "node1"],
        "spares": [],
        "hosts": "nodes",
        "is_in_queue": False,
        "experiment": f"/home/ann/experiments/{RUN_ID}_base_0000",
        "experiments": "/home/ann/experiments",
        "controller": {"host": "laptop", "user": "ada"},
        "command": "ansible-playbook launch.yml -e channels=42",
        "call": "ansible-playbook",
        "environment": {},
        "options": [],
        "versions": {"muster": "0.1.0", "ansible_core": "2.19.14", "python": "3.11.7"},
    }
    extra_vars = {name: (value, "extra_vars") for name, value in GIVEN.items()}
    nothing = ("nproc", "nnodes", "config", "config_name", "module", "master_port", "time_limit", "wait")
    choices = {"config_option": "--config", "launcher": "torchrun", "mode": "auto", "output": "table"}
    switches = {"follow": True, "sync": False, "all": False, "max_restarts": 0, "lines": 0}
    choices.update(hang_action="warn", verify_transport="warn")
    profiling = {"rocprof": False, "stats": False, "nsys": False, "profiler_args": []}
    defaults: dict[str, Any] = {
        **dict.fromkeys((*nothing, "rocprof_input", "profile_ranks", "metrics_pattern", "on_end", "page", "run_id")),
        **choices,
        **switches,
        **profiling,
        "script_args": [],
        "launcher_args": [],
        "env": {},
        "hang_watch": 120,
        "telemetry": 10,
    }
    default = {name: (value, "default") for name, value in defaults.items()}
    given = {**extra_vars, **default, "script": ("train.py", "cluster")}
    assert {name: (setting["value"], setting["layer"]) for name, setting in parameters.items()} == given


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
    request = make(argv=argv, next_environment={"ANSIBLE_COLLECTIONS_PATH": "/muster/collections"})
    assert request["call"] == "ANSIBLE_COLLECTIONS_PATH=/muster/collections ansible-playbook -i 'labs/a b'"
    assert request["options"] == ["-i", "labs/a b"]
    assert make(argv=argv, next_environment=request["environment"], verb="status")["call"] == request["call"]


def test_a_given_run_id_is_kept() -> None:
    request = make({"run_id": RUN_ID, "channels": 7})
    assert request["run_id"] == RUN_ID
    assert request["experiment"] == f"/home/ann/experiments/{RUN_ID}"


def plan_of(request: Request) -> dict[str, Any]:
    """What is kept of a request in the plan: all that a second launch by the same run id looks at."""
    return {"run_id": request["run_id"], "parameters": request["parameters"]}


def relaunched() -> list[Request]:
    """The requests of a run that is launched three times."""
    first = make({"channels": 42, "label": "base", "env": {"A": "1"}, "follow": False}, {"THREADS": "256"})
    again = make({"run_id": first["run_id"], "env": {"A": "2"}}, {"CONFIG_FILE": "c.yml"}, earlier=plan_of(first))
    return [first, again, make({"run_id": first["run_id"]}, earlier=plan_of(again))]


def test_a_relaunched_run_keeps_its_parameters() -> None:
    first, again, third = relaunched()
    assert again["run_id"] == first["run_id"]
    given = {name: item for name, item in again["parameters"].items() if item["layer"] != "default"}
    assert without_words(given) == {
        "channels": {"value": 42, "layer": "earlier"},
        "threads": {"value": 256, "layer": "earlier"},
        "label": {"value": "base", "layer": "earlier"},
        "config": {"value": "c.yml", "layer": "environment"},
        "env": {"value": {"A": "2"}, "layer": "extra_vars"},
        "script": {"value": "train.py", "layer": "cluster"},
        "run_id": {"value": first["run_id"], "layer": "extra_vars"},
    }
    assert without_words(third["parameters"]["label"]) == {"value": "base", "layer": "earlier"}
    assert without_words(third["parameters"]["env"]) == {"value": {"A": "2"}, "layer": "earlier"}


def test_an_empty_value_clears_the_plan_s_on_a_relaunch() -> None:
    first = make({"label": "base", "script_args": ["--x"]})
    again = make({"run_id": first["run_id"], "label": "", "script_args": []}, earlier=plan_of(first))
    assert without_words(again["parameters"]["label"]) == {"value": None, "layer": "extra_vars"}
    assert without_words(again["parameters"]["script_args"]) == {"value": [], "layer": "extra_vars"}


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


def test_a_run_id_begins_with_the_program_unless_channels_or_threads_are_given() -> None:
    assert make()["run_id"] == "train_20261120_143052_0000"
    assert make({"module": "pkg.pretrain", "label": "a"})["run_id"] == "pkg.pretrain_20261120_143052_a_0000"
    assert make({"threads": 256})["run_id"] == "multinode_autoch_256th_20261120_143052_0000"
    assert make(environment={"CHANNELS": "8"})["run_id"] == "multinode_8ch_autoth_20261120_143052_0000"


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("status", {"run_id", "all", "output"}),
        ("stacks", {"run_id", "output", "rank"}),
        ("logs", {"run_id", "output", "lines", "node", "rank", "grep", "follow"}),
        ("stop", {"run_id", "all", "output"}),
    ],
)
def test_the_other_verbs_have_the_same_fields(verb: str, names: set[str]) -> None:
    request = make(verb=verb)
    assert request.keys() == make().keys()
    assert (request["verb"], request["run_id"], request["experiment"], request["nonce"]) == (verb, None, None, None)
    assert request["parameters"].keys() == names
    assert make({"run_id": RUN_ID}, verb=verb)["experiment"] == f"/home/ann/experiments/{RUN_ID}"


def test_other_verbs_leave_launch_defaults_and_the_environment_alone() -> None:
    request = make(environment={"LABEL": "x y", "CHANNELS": "none"}, defaults={"wrong": 1}, verb="status")
    assert without_words(request["parameters"]) == {
        "run_id": {"value": None, "layer": "default"},
        "all": {"value": False, "layer": "default"},
        "output": {"value": "table", "layer": "default"},
    }


def test_a_preflight_of_the_first_nodes_has_the_spares_too() -> None:
    cluster = Inventory(inventory("n0", "n1", "n2").nodes, inventory("s0").nodes)
    first = make({"nnodes": 2}, verb="preflight", nodes=cluster)
    assert (first["nodes"], first["spares"], first["hosts"]) == (["n0", "n1", "s0"], [], "nodes[0:1]:spares")
    every = make(verb="preflight", nodes=cluster)
    assert (every["nodes"], every["hosts"]) == (["n0", "n1", "n2", "s0"], "nodes:spares")


def test_logs_of_a_node() -> None:
    assert make({"node": "node1"}, verb="logs")["parameters"]["node"]["value"] == "node1"


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
    settings = {name: (p["value"], p["layer"]) for name, p in request["parameters"].items() if p["layer"] != "default"}
    assert settings == {
        "channels": (42, "extra_vars"),
        "threads": (512, "environment"),
        "config": ("a.yaml", "environment"),
        "nproc": (4, "environment"),
        "label": ("env", "environment"),
        "master_port": (29500, "environment"),
        "mode": ("tcp", "cluster"),
        "script": ("t.py", "cluster"),
    }


def test_an_empty_environment_variable_is_unset() -> None:
    assert without_words(make(environment={"CHANNELS": "", "LABEL": ""})["parameters"]["channels"]) == {
        "value": None,
        "layer": "default",
    }


def test_empty_text_and_null_clear_the_cluster_s_value() -> None:
    defaults = {"script": "t.py", "config": "c.yaml", "channels": 8, "launcher": "torchrun", "env": {"A": "1"}}
    request = make({"config": "", "channels": None, "env": ""}, {"CHANNELS": "9"}, defaults)
    assert without_words(request["parameters"]["config"]) == {"value": None, "layer": "extra_vars"}
    assert without_words(request["parameters"]["channels"]) == {"value": None, "layer": "extra_vars"}
    assert without_words(request["parameters"]["env"]) == {"value": {}, "layer": "extra_vars"}


def test_another_script_drops_the_cluster_s_config_and_arguments() -> None:
    defaults = {"script": "example.py", "config": "example.yaml", "script_args": ["--steps", "5"], "nproc": 2}
    request = make({"script": "mine.py"}, None, defaults)
    assert without_words(request["parameters"]["script"]) == {"value": "mine.py", "layer": "extra_vars"}
    assert without_words(request["parameters"]["config"]) == {"value": None, "layer": "default"}
    assert without_words(request["parameters"]["script_args"]) == {"value": [], "layer": "default"}
    assert request["parameters"]["nproc"]["value"] == 2
    kept = make({"script": "mine.py", "config": "mine.yaml"}, None, defaults)
    assert without_words(kept["parameters"]["config"]) == {"value": "mine.yaml", "layer": "extra_vars"}
    from_environment = make({"script": "mine.py"}, {"CONFIG_FILE": "env.yaml"}, defaults)
    assert from_environment["parameters"]["config"]["value"] == "env.yaml"


def test_the_option_of_a_configuration_belongs_to_its_program_and_may_be_nothing() -> None:
    defaults = {"script": "example.py", "config_name": "tiny", "config_option": "--preset"}
    values = make({"config_option": ""}, None, defaults)["parameters"]
    assert (values["config_option"]["value"], values["config_name"]["value"]) == ("", "tiny")
    values = make({"config_name": ""}, None, defaults)["parameters"]
    assert (values["config_option"]["value"], values["config_name"]["value"]) == ("--preset", None)
    values = make({"script": "mine.py"}, None, defaults)["parameters"]
    assert (values["config_option"]["value"], values["config_name"]["value"]) == ("--config", None)


def test_a_module_wins_over_the_cluster_s_script() -> None:
    request = make({"module": "pkg.train"}, None, {"script": "example.py"})
    assert request["parameters"]["module"]["value"] == "pkg.train"
    assert without_words(request["parameters"]["script"]) == {"value": None, "layer": "default"}


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
    assert command_again(argv, options) == expected
