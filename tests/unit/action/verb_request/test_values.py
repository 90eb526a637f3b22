# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `verb_request`: which values a request has, and that nothing a person typed is ever evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible._internal._datatag._tags import VaultedValue
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.action import verb_request as action
from ansible_collections.muster.train.tests.support.asking import Run, value


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
    assert run(f"run_id={first['run_id']}", verb="status")["request"]["parameters"].keys() == {
        "run_id",
        "all",
        "output",
    }


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
