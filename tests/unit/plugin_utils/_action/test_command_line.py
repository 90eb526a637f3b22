# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line as Ansible reads it: nothing that a person typed is ever evaluated."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from ansible import constants, context
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars

from ansible_collections.muster.train.plugins.plugin_utils._action import command_line
from ansible_collections.muster.train.plugins.plugin_utils._request.carried import carried_variables
from ansible_collections.muster.train.plugins.plugin_utils._request.command_line import CommandLine, given_variables
from ansible_collections.muster.train.tests.support.sources import ROOT

Read = Callable[..., CommandLine]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Read:
    """Read the command line of `ansible-playbook launch.yml` with these -e and options, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def read(*texts: str, **options: Any) -> CommandLine:
        monkeypatch.setattr(sys, "argv", ["/venv/bin/ansible-playbook", "launch.yml"])
        monkeypatch.setattr(context, "CLIARGS", CLIArgs({"extra_vars": texts, **options}))
        monkeypatch.setattr(load_extra_vars, "extra_vars", None, raising=False)
        return command_line.read_command_line(DataLoader(), {"mine"})

    return read


def test_options(read: Read) -> None:
    typed = {"tags": ("code",), "subset": "node0", "start_at_task": "Plan", "inventory": ("/clusters/lab",)}
    line = read(**typed)
    assert (line.tags, line.limit, line.start_at_task) == (("code",), "node0", "Plan")
    assert (line.inventories, line.play_variables, line.argv[1]) == (("/clusters/lab",), {"mine"}, "launch.yml")
    assert line.versions.keys() == {"muster", "ansible_core", "python"}
    assert line.host
    assert line.user
    assert len(line.nonce) == 32
    everything = read(tags=("all",), subset=None, start_at_task=None, skip_tags=("molecule-notest",))
    assert (everything.tags, everything.limit, everything.start_at_task) == ((), None, None)
    assert everything.nonce != line.nonce


def test_each_text_has_its_variables_and_the_last_one_wins(read: Read, tmp_path: Path) -> None:
    (tmp_path / "run.yml").write_text("channels: 28\nlaunch_slot: a\nenv:\n  NCCL_DEBUG: INFO\n")
    texts = ("@run.yml", "channels=42 label=two words", '{"launch_python": "python3.11"}')
    line = read(*texts)
    in_file = {"channels": 28, "launch_slot": "a", "env": {"NCCL_DEBUG": "INFO"}}
    given = {"channels": "42", "label": "two", "_raw_params": "words"}
    assert line.options == tuple(zip(texts, (in_file, given, {"launch_python": "python3.11"}), strict=True))
    expected = {**in_file, **given, "launch_slot": None, "launch_python": None}
    assert given_variables("launch", line) == (expected, [])
    assert carried_variables([line.options[0], line.options[2]]) == ["@run.yml", texts[-1]]


def test_other_verbs_ignore_what_a_file_has_for_a_launch(read: Read, tmp_path: Path) -> None:
    (tmp_path / "both.yml").write_text("channels: 28\nlaunch_slot: a\nrank: 3\n")
    assert given_variables("logs", read("@both.yml"))[0] == {"launch_slot": None, "rank": 3}
    assert {*given_variables("status", read("@both.yml"))[0]} == {"launch_slot", "rank"}
    assert {*given_variables("logs", read("@both.yml", "channels=28"))[0]} == {"channels", "launch_slot", "rank"}
    assert {*given_variables("launch", read("@both.yml"))[0]} == {"channels", "launch_slot", "rank"}


def test_templates_are_text_and_lose_the_tag_that_trusts_them(read: Read, tmp_path: Path) -> None:
    trap = "{{ lookup('ansible.builtin.pipe', 'touch evaluated') }}"
    values = {"script": trap, "env": {"X": trap}, "script_args": ["--x", trap]}
    # What comes from a file is tagged as trusted; a tag that survives would have it evaluated where it is used.
    (tmp_path / "run.yml").write_text(json.dumps(values))
    for text in ("@run.yml", json.dumps(values)):
        given: Any = given_variables("launch", read(text))[0]
        assert given == values
        assert {type(item) for item in (given["script"], given["env"]["X"], *given["env"], *given["script_args"])} == {
            str
        }
    assert not (tmp_path / "evaluated").exists()


def test_encrypted_parameters_are_refused_and_not_shown(read: Read, tmp_path: Path) -> None:
    encrypted = VaultLib().encrypt("hunter2", VaultSecret(b"password")).decode()
    block = "!vault |\n" + "".join(f"      {line}\n" for line in encrypted.splitlines())
    (tmp_path / "vars.yml").write_text(f"label: {block}env:\n  X: {block}launch_secrets:\n  HF_TOKEN: {block}")
    given, lines = given_variables("launch", read("@vars.yml"))
    assert (given, [line.partition(": ")[0] for line in lines]) == ({"launch_secrets": None}, ["label", "env.X"])


def test_documented_variables_are_those_of_every_role(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"launch_workdir", "launch_slot", "code_source", "memlock_limit"} <= {*read().documented}
    specs = tmp_path / "roles" / "some" / "meta" / "argument_specs.yml"
    specs.parent.mkdir(parents=True)
    specs.write_text("argument_specs: {main: {options: {some_dir: {}}}, other: {options: {some_size: {}}}, x: }")
    monkeypatch.setattr(command_line, "COLLECTION", tmp_path)
    assert read().documented == {"some_dir", "some_size"}


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("galaxy.yml", "version: 1.2.3\n", "1.2.3"),
        ("MANIFEST.json", '{"collection_info": {"version": "4.5.6"}}', "4.5.6"),
        ("README.md", "", "unknown"),
    ],
)
def test_the_version_of_the_collection(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, version: str
) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(command_line, "COLLECTION", tmp_path)
    assert read().versions["muster"] == version


# The next command


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let Ansible search for collections in these directories, which this origin has configured."""

    def search(origin: str, *paths: Path) -> None:
        lookup = Mock(return_value=([str(path) for path in paths], origin))
        monkeypatch.setattr(constants.config, "get_config_value_and_origin", lookup)

    return search


def test_the_next_command_finds_the_collection(read: Read, tmp_path: Path, search: Callable[..., None]) -> None:
    other, link = tmp_path / "other", ROOT / "collections"
    other.mkdir()
    search("/etc/ansible/ansible.cfg", other, link)
    assert read().next_environment == {}
    # What was set for one command may not be there for the next.
    search("env: ANSIBLE_COLLECTIONS_PATH", other, link)
    assert read().next_environment == {"ANSIBLE_COLLECTIONS_PATH": f"{other}:{link}"}
    search("default", other, tmp_path / "gone")
    assert read().next_environment == {"ANSIBLE_COLLECTIONS_PATH": f"{link}:{other}"}


def test_the_next_command_needs_no_path_where_the_collection_is_found_by_default(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: Callable[..., None]
) -> None:
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path))
    (tmp_path / "collections/ansible_collections/muster").mkdir(parents=True)
    (tmp_path / "collections/ansible_collections/muster/train").symlink_to(ROOT)
    search("env: ANSIBLE_COLLECTIONS_PATH", tmp_path / "collections")
    assert read().next_environment == {}


def test_the_next_command_names_the_slurm_job(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, of_inventories, named in (
        ("", {"7"}, "7"),
        ("", {"7", "8"}, None),
        ("9", {"7"}, "9"),
        ("", set(), None),
    ):
        monkeypatch.setenv("MUSTER_SLURM_JOB_ID", typed)
        monkeypatch.setattr(command_line, "JOBS", of_inventories)
        assert read().next_environment.get("MUSTER_SLURM_JOB_ID") == named


def test_the_next_command_has_the_same_configuration(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = {"K8S_AUTH_NAMESPACE": "training", "K8S_AUTH_CONTEXT": "prod", "MUSTER_STATEFULSET": "trainer"}
    for name, text in {"ANSIBLE_CONFIG": "lab/ansible.cfg", "ANSIBLE_INVENTORY": "lab/two hosts", **pods}.items():
        monkeypatch.setenv(name, text)
        assert read().next_environment[name] == text
    monkeypatch.setenv("ANSIBLE_CONFIG", str(tmp_path / "ansible.cfg"))
    assert "ANSIBLE_CONFIG" not in read().next_environment
