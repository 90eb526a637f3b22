# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `verb_request`: where it reads from, and that nothing a person typed is ever evaluated."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from ansible import constants, context
from ansible._internal._datatag._tags import VaultedValue
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.template import Templar, trust_as_template
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars

from ansible_collections.muster.train.plugins.action import verb_request as action
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the action as `ansible-playbook launch.yml` with these options would, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for variable in ("CHANNELS", "THREADS", "CONFIG_FILE", "NPROC_PER_NODE", "LABEL", "MASTER_PORT"):
        monkeypatch.delenv(variable, raising=False)

    def run(
        *extra_vars: str,
        verb: str = "launch",
        args: dict[str, Any] | None = None,
        hostvars: dict[str, dict[str, Any]] | None = None,
        subset: str | None = None,
        task_vars: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        check: bool = False,
    ) -> dict[str, Any]:
        argv = ["/venv/bin/ansible-playbook", f"{verb}.yml", *(word for text in extra_vars for word in ("-e", text))]
        monkeypatch.setattr(sys, "argv", argv)
        given = {"extra_vars": extra_vars, "inventory": ("/clusters/lab",), "subset": subset, **(options or {})}
        monkeypatch.setattr(context, "CLIARGS", CLIArgs(given))
        monkeypatch.setattr(load_extra_vars, "extra_vars", None, raising=False)
        hosts = hostvars if hostvars is not None else {"node0": {"launch_defaults": {"script": "t.py"}}, "node1": {}}
        task = MagicMock(args={"verb": verb, **(args or {})}, async_val=0, check_mode=check)
        groups = {"nodes": list(hosts)} if hosts else {}
        variables = {"groups": groups, "hostvars": Hosts(hosts), **(task_vars or {})}
        templar = Templar(loader=DataLoader(), variables=variables)
        plugin = action.ActionModule(task, MagicMock(), MagicMock(), DataLoader(), templar, None)
        return result_of(plugin, variables)

    return run


def value(result: dict[str, Any], name: str) -> Any:
    return result["request"]["parameters"][name]["value"]


def test_a_request(run: Run, tmp_path: Path) -> None:
    result = run("channels=42", "label=base")
    assert result["changed"] is False
    request = result["request"]
    assert value(result, "channels") == 42
    assert request["parameters"]["script"] == {
        "value": "t.py",
        "origin": "cluster (launch_defaults)",
        "layer": "cluster",
    }
    assert request["nodes"] == ["node0", "node1"]
    assert request["run_id"].startswith("multinode_42ch_autoth_2")
    assert request["run_id"].endswith(f"_base_{request['nonce'][:4]}")
    assert request["experiment"] == f"{tmp_path}/experiments/{request['run_id']}"
    assert request["command"] == "ansible-playbook launch.yml -e channels=42 -e label=base"
    assert len(request["nonce"]) == 32
    assert request["versions"].keys() == {"muster", "ansible_core", "python"}
    assert json.loads(json.dumps(request)) == request


def test_a_relaunched_run_takes_its_plan_s_parameters(run: Run, tmp_path: Path) -> None:
    first = run("channels=42", "label=base", "launch_experiments_dir=runs")["request"]
    home = tmp_path / "experiments" / first["run_id"]
    home.mkdir(parents=True)
    (home / "plan.json").write_text(json.dumps(first))
    again = run(f"run_id={first['run_id']}")
    assert again["request"]["parameters"]["channels"] == {
        "value": 42,
        "origin": "-e channels, as in the run's plan",
        "layer": "earlier",
    }
    assert value(again, "label") == "base"
    assert "warnings" not in again
    assert value(run("channels=7"), "label") is None
    # Another verb has no plan to keep to.
    assert run(f"run_id={first['run_id']}", verb="status")["request"]["parameters"].keys() == {"run_id"}


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_given_run_id_without_a_plan_causes_a_warning(run: Run, tmp_path: Path, text: str | None) -> None:
    run_id = "multinode_42ch_autoth_20261120_143052"
    (tmp_path / "experiments" / run_id).mkdir(parents=True)
    if text is not None:
        (tmp_path / "experiments" / run_id / "plan.json").write_text(text)
    result = run(f"run_id={run_id}")
    assert value(result, "channels") is None
    assert result["warnings"] == [
        f"there is no plan of {run_id} in {tmp_path}/experiments: if it was launched before, its parameters are not "
        f"known here; to reuse them, collect it first: ansible-playbook muster.train.collect -e run_id={run_id}"
    ]
    assert "warnings" not in run(f"run_id={run_id}", verb="status")
    assert run("run_id=../../x")["failed"] is True


def elsewhere(monkeypatch: pytest.MonkeyPatch, paths: list[Path], origin: str) -> None:
    lookup = Mock(return_value=([str(path) for path in paths], origin))
    monkeypatch.setattr(constants.config, "get_config_value_and_origin", lookup)


def test_the_next_command_finds_the_collection(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, link = tmp_path / "other", ROOT / "collections"
    other.mkdir()
    elsewhere(monkeypatch, [other, link], "/etc/ansible/ansible.cfg")
    assert run()["request"]["call"] == "ansible-playbook"
    # What was set for one command may not be there for the next.
    elsewhere(monkeypatch, [other, link], "env: ANSIBLE_COLLECTIONS_PATH")
    assert run()["request"]["call"] == f"ANSIBLE_COLLECTIONS_PATH={other}:{link} ansible-playbook"
    elsewhere(monkeypatch, [other, tmp_path / "gone"], "default")
    assert run()["request"]["call"] == f"ANSIBLE_COLLECTIONS_PATH={link}:{other} ansible-playbook"


def test_two_requests_have_two_nonces(run: Run) -> None:
    assert run()["request"]["nonce"] != run()["request"]["nonce"]


def test_refusal_is_a_failure_with_every_line(run: Run) -> None:
    result = run("channels=abc", "wat=1")
    assert result["failed"] is True
    assert "request" not in result
    assert [line.split(":")[0] for line in result["msg"].split("\n")] == ["wat", "channels"]


def test_templates_in_extra_vars_are_not_evaluated(run: Run, tmp_path: Path) -> None:
    trap = "{{ lookup('ansible.builtin.pipe', 'touch evaluated') }}"
    assert run(json.dumps({"label": trap}))["msg"].startswith("label: expected 1 to 40 letters")
    literal = run(json.dumps({"script": trap, "script_args": ["--x", trap], "env": {"X": trap}}))
    assert value(literal, "script") == trap
    assert value(literal, "script_args") == ["--x", trap]
    assert value(literal, "env") == {"X": trap}
    assert not (tmp_path / "evaluated").exists()


def test_values_are_not_trusted_as_templates(run: Run, tmp_path: Path) -> None:
    # What comes from a file is tagged as trusted; a tag that survives would have it evaluated where it is used.
    (tmp_path / "run.yml").write_text(
        "script: '{{ 1 }}'\nenv: {X: '{{ 2 }}'}\nscript_args: ['{{ 3 }}']\nlauncher: python\n"
    )
    result = run("@run.yml")
    texts = [value(result, "script"), *value(result, "script_args"), value(result, "launcher")]
    for name, text in value(result, "env").items():
        texts += [name, text]
    assert texts == ["{{ 1 }}", "{{ 3 }}", "python", "X", "{{ 2 }}"]
    assert {type(text) for text in texts} == {str}


def test_extra_vars_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.yml").write_text("channels: 28\nenv:\n  NCCL_DEBUG: INFO\n")
    result = run("@run.yml", "channels=42")
    assert (value(result, "channels"), value(result, "env")) == (42, {"NCCL_DEBUG": "INFO"})


def test_loose_words(run: Run) -> None:
    assert run("label=two words")["msg"].startswith("-e: 'words' is not NAME=VALUE")


def test_the_environment_of_the_controller(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANNELS", "28")
    monkeypatch.setenv("THREADS", "512")
    result = run("channels=42")
    assert result["request"]["parameters"]["channels"] == {"value": 42, "origin": "-e channels", "layer": "extra_vars"}
    assert result["request"]["parameters"]["threads"] == {
        "value": 512,
        "origin": "environment THREADS",
        "layer": "environment",
    }


def test_given_options_win_over_the_first_node_s_variables(run: Run, tmp_path: Path) -> None:
    hostvars = {"a": {"launch_defaults": {"script": "a.py"}, "launch_experiments_dir": f"{tmp_path}/a"}, "b": {}}
    assert value(run(hostvars=hostvars), "script") == "a.py"
    assert run(hostvars=hostvars)["request"]["experiments"] == f"{tmp_path}/a"
    result = run(hostvars=hostvars, args={"defaults": {"module": "pkg"}, "experiments_dir": "runs"})
    assert value(result, "module") == "pkg"
    assert value(result, "script") is None
    assert result["request"]["experiments"] == f"{tmp_path}/runs"


def test_the_home_directory(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}/ada")
    assert run(args={"experiments_dir": "~/runs"})["request"]["experiments"] == f"{tmp_path}/ada/runs"


@pytest.mark.parametrize("verb", ["launch", "collect"])
@pytest.mark.parametrize("check", [False, True])
def test_experiments_that_cannot_be_written(run: Run, tmp_path: Path, verb: str, check: bool) -> None:
    (tmp_path / "file").write_text("")
    lines = run(verb=verb, args={"experiments_dir": "file/runs"}, check=check)["msg"]
    assert lines == (
        f"launch_experiments_dir: {tmp_path}/file/runs could not be written (Not a directory); expected a directory "
        "that you can write to, with free space; choose another with -e launch_experiments_dir=PATH"
    )


def test_following_where_nothing_can_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(verb="follow", args={"experiments_dir": "file/runs"})
    assert result["request"]["verb"] == "follow"
    assert [warning.split(";")[0] for warning in result["warnings"]] == [
        f"launch_experiments_dir: {tmp_path}/file/runs could not be written (Not a directory)"
    ]


def test_the_experiments_are_made(run: Run, tmp_path: Path) -> None:
    run(check=True)
    assert not (tmp_path / "experiments").exists()
    run()
    assert list((tmp_path / "experiments").iterdir()) == []
    assert (tmp_path / "experiments").stat().st_mode & 0o777 == 0o700


def test_an_experiment_that_is_in_the_way(run: Run, tmp_path: Path) -> None:
    run_id = "multinode_42ch_256th_20261120_143052"
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / run_id).write_text("")
    assert f"{run_id} could not be written (Not a directory)" in run(f"run_id={run_id}")["msg"]


@pytest.mark.parametrize("verb", ["status", "stop", "logs"])
def test_other_verbs_work_where_nothing_can_be_written(run: Run, tmp_path: Path, verb: str) -> None:
    (tmp_path / "file").write_text("")
    assert run(verb=verb, args={"experiments_dir": "file/runs"})["request"]["verb"] == verb


def test_list_reads_the_directory_where_no_node_is(run: Run, tmp_path: Path) -> None:
    result = run(verb="list", hostvars={}, task_vars={"launch_experiments_dir": "kept"})
    assert result["request"]["experiments"] == f"{tmp_path}/kept"


def test_addresses_come_from_the_inventory(run: Run) -> None:
    same: dict[str, dict[str, Any]] = {"a": {"ansible_host": "10.0.0.1"}, "b": {"ansible_host": "10.0.0.1"}}
    assert run("script=t.py", hostvars=same)["msg"].startswith(
        "inventory: a and b are the same machine (10.0.0.1 port 22)"
    )
    same["b"]["ansible_port"] = 2222
    assert run("script=t.py", hostvars=same)["request"]["nodes"] == ["a", "b"]


def test_no_nodes_names_the_sources(run: Run) -> None:
    assert "(read: /clusters/lab)" in run("script=t.py", hostvars={})["msg"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"tags": ("foo",)}, "--tags: expected none, saw 'foo'; the tasks of a verb have no tags, remove it"),
        ({"start_at_task": "Plan"}, "--start-at-task: expected none, saw 'Plan'; a verb runs as a whole, remove it"),
    ],
)
def test_options_that_leave_out_tasks(run: Run, options: dict[str, Any], line: str) -> None:
    assert run(options=options)["msg"] == line
    assert "request" in run(options={"tags": ("all",), "skip_tags": ("molecule-notest",), "start_at_task": None})


def test_limit(run: Run) -> None:
    assert run(subset="node0")["msg"].startswith("--limit: expected none, saw 'node0'")


def test_documented_variables_of_roles_pass(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = tmp_path / "roles" / "some" / "meta" / "argument_specs.yml"
    specs.parent.mkdir(parents=True)
    text = (
        "argument_specs: {main: {options: {some_dir: {type: path}}}, other: {options: {some_size: {type: int}}}, x: }"
    )
    specs.write_text(text)
    monkeypatch.setattr(action, "COLLECTION", tmp_path)
    assert value(run("some_dir=/x", "some_size=3"), "script") == "t.py"
    assert "did you mean 'some_size'?" in run("some_sizes=3")["msg"]


def test_the_role_s_own_variables_pass(run: Run) -> None:
    assert "request" in run("launch_workdir=/x", "launch_slot=a")


WHY = "is encrypted by Ansible Vault, but would be saved as plain text in plans and experiments; set secrets in "


def refused(*names: str) -> list[str]:
    return [f"{name}: {WHY}launch_secrets" for name in names]


def test_a_vaulted_value_is_refused_and_not_shown(run: Run, tmp_path: Path) -> None:
    encrypted = VaultLib().encrypt("hunter2", VaultSecret(b"password")).decode()
    block = "!vault |\n" + "".join(f"      {line}\n" for line in encrypted.splitlines())
    (tmp_path / "vars.yml").write_text(f"label: {block}env:\n  X: {block}launch_secrets:\n  HF_TOKEN: {block}")
    assert run("@vars.yml")["msg"].split("\n") == refused("label", "env.X")


def test_a_vaulted_variable_is_refused_where_its_value_would_be_saved(run: Run) -> None:
    secret = VaultedValue(ciphertext="$ANSIBLE_VAULT;1.1;AES256").tag("hunter2")
    hosts: dict[str, Any] = {
        name: {
            "launch_env": {"A": "plain", "B": secret},
            "launch_defaults": {"script": "t.py", "script_args": ["--key", secret], "env": {"C": secret}},
            "launch_secrets": {"D": secret},
        }
        for name in ("node0", "node1")
    }
    hosts["node1"] |= {"vault_e": secret, "launch_node_env": {"E": trust_as_template("{{ vault_e }}")}}
    names = ("launch_defaults.script_args", "launch_defaults.env.C", "launch_env.B", "launch_node_env.E")
    for verb in ("launch", "detect", "preflight"):
        assert run(verb=verb, hostvars=hosts)["msg"].split("\n") == refused(*names)
    # A run that goes on can be stopped all the same.
    assert "request" in run(verb="stop", hostvars=hosts)


def test_a_node_s_environment_may_refer_to_the_role_s_defaults(run: Run) -> None:
    hosts = {"node0": {"launch_env": {"HF_HOME": trust_as_template("{{ launch_workdir }}/hf")}}}
    for verb in ("launch", "detect", "preflight"):
        options = ["script=t.py"] if verb == "launch" else []
        assert "request" in run(*options, verb=verb, hostvars=hosts, task_vars={"launch_workdir": "~/muster"})


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("galaxy.yml", "version: 1.2.3\n", "1.2.3"),
        ("MANIFEST.json", '{"collection_info": {"version": "4.5.6"}}', "4.5.6"),
        ("README.md", "", "unknown"),
    ],
)
def test_the_version_of_the_collection(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, version: str
) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(action, "COLLECTION", tmp_path)
    assert run()["request"]["versions"]["muster"] == version


def test_the_next_command_has_this_one_s_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yml").write_text("launch_slot: a\n")
    (tmp_path / "both.yml").write_text("channels: 28\nlaunch_stop_grace: 9\n")
    (tmp_path / "secret.yml").write_text("launch_secrets: {HF_TOKEN: x}\nthreads: 64\n")
    inline = '{"launch_python": "python3.11", "label": "base"}'
    options = ("channels=42", "launch_workdir=/x", "@policy.yml", "@both.yml", "@secret.yml", inline)
    call = run(*options, '{"launch_secrets": {"HF_TOKEN": "x"}}')["request"]["call"]
    assert shlex.split(call) == [
        "ansible-playbook",
        *("-e", "launch_workdir=/x"),
        *("-e", "@policy.yml"),
        *("-e", '{"launch_python": "python3.11"}'),
    ]


def test_the_next_command_needs_no_path_where_the_collection_is_found_by_default(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path))
    (tmp_path / "collections/ansible_collections/muster").mkdir(parents=True)
    (tmp_path / "collections/ansible_collections/muster/train").symlink_to(ROOT)
    elsewhere(monkeypatch, [tmp_path / "collections"], "env: ANSIBLE_COLLECTIONS_PATH")
    assert run()["request"]["call"] == "ansible-playbook"
