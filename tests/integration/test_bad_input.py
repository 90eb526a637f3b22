# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that make no sense: one clear line that names the thing, exit not zero, and nothing starts."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, Played, run_to_end

# Whoever hands one of these to a shell, or templates it, makes the file.
SHELL = ["; touch {0}", "$(touch {0})", "`touch {0}`", "& touch {0} &", "| touch {0}", "' \" ; touch {0}"]
JINJA = "{{{{ lookup('ansible.builtin.pipe', 'touch {0}') }}}}"


def assert_nothing_started(cluster: Cluster, played: Played) -> None:
    assert played.rc not in (0, None)
    assert "Start the job" not in played.out
    assert cluster.processes() == []
    names = {path.name for path in cluster.home.iterdir() if not path.name.startswith("given")}
    assert names - {"experiments"} == {"hosts.yml"}
    assert list(cluster.experiments.glob("*")) == []


def refusal(cluster: Cluster, parameters: dict[str, Any], **environment: Any) -> list[str]:
    """Launch, and return the lines of the refusal."""
    played = cluster.play("launch.yml", "-e", json.dumps(parameters), **environment)
    assert_nothing_started(cluster, played)
    return played.messages


def canary(cluster: Cluster) -> Path:
    return cluster.home / "given-canary"


@pytest.mark.gate
def test_all_mistakes_are_reported_at_once_one_per_line(cluster: Cluster) -> None:
    wrong = {"channels": "abc", "chanels": 42, "max_restarts": -1, "script": "a.py", "module": "b", "run_id": "../x"}
    assert [line.split(";")[0] for line in refusal(cluster, wrong)] == [
        "chanels: unknown parameter (-e chanels)",
        "channels: expected a whole number from 1 to 128, saw 'abc' (-e channels)",
        "max_restarts: expected a whole number from 0 to 100, saw -1 (-e max_restarts)",
        "run_id: expected a run ID (a name, not a path) such as multinode_42ch_256th_20261120_143052[_label]_3f9a, "
        "saw '../x' (-e run_id)",
        "script: expected a script or a module, saw 'a.py' (-e script) and saw 'b' (-e module)",
    ]


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"channels": 0}, "channels: expected a whole number from 1 to 128, saw 0 (-e channels)"),
        ({"channels": True}, "channels: expected a whole number from 1 to 128, saw True (-e channels)"),
        ({"chanels": 42}, "chanels: unknown parameter (-e chanels); did you mean 'channels'? "),
        ({"nnodes": 3}, "nnodes: expected at most 2, the size of the group 'nodes', saw 3 (-e nnodes); add nodes "),
        ({"rank": 3}, "rank: unknown parameter (-e rank); it belongs to the verb logs; "),
    ],
)
def test_a_parameter(cluster: Cluster, parameters: dict[str, Any], line: str) -> None:
    lines = refusal(cluster, parameters)
    assert len(lines) == 1
    assert lines[0].startswith(line)


def test_a_variable_of_the_user_s_own_is_taken_where_the_inventory_names_it(tmp_path: Path) -> None:
    """Only there: elsewhere it is a mistake, and so is a name that a template merely contains."""
    cluster = Cluster(tmp_path, policy={"launch_slot": "{{ project | default('none') }}"})
    try:
        checked = cluster.verb("launch", "--check", project="vision")
        assert checked.rc == 0, checked.out
        assert refusal(cluster, {"projec": "vision"})[0].startswith("projec: unknown parameter (-e projec)")
    finally:
        cluster.destroy()


def test_experiments_that_cannot_be_written(cluster: Cluster) -> None:
    """Before any node is contacted: afterwards the ranks would run, and their run ID would not be known."""
    (cluster.home / "given-file").write_text("")
    where = cluster.home / "given-file" / "experiments"
    assert refusal(cluster, {"launch_experiments_dir": str(where)}) == [
        f"launch_experiments_dir: {where} could not be written (Not a directory); expected a directory that "
        "you can write to, with free space; choose another with -e launch_experiments_dir=PATH"
    ]


def test_a_variable_of_the_environment(cluster: Cluster) -> None:
    assert refusal(cluster, {}, CHANNELS="abc", LABEL="$(touch x)") == [
        "channels: expected a whole number from 1 to 128, saw 'abc' (environment CHANNELS)",
        "label: expected 1 to 40 letters, digits, '.', '_' or '-', the first a letter or digit, "
        "saw '$(touch x)' (environment LABEL)",
    ]


def test_missing_and_invalid_files(cluster: Cluster) -> None:
    config = cluster.home / "given-config.yml"
    config.write_text("model: {layers: 2\ntraining: [\n")
    script, no_yaml = refusal(cluster, {"script": "nowhere.py", "config": str(config)})
    assert script.startswith("node0 and node1: files: ")
    assert "/workloads/nowhere.py does not exist; expected the same readable file on every node" in script
    assert no_yaml.startswith(f"node0 and node1: files: {config}:2:9: ")
    assert "expected a YAML mapping (-e config)" in no_yaml


def test_a_port_that_is_taken_names_its_holder(cluster: Cluster) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        (line,) = refusal(cluster, {"master_port": port})
    assert line.startswith(f"node0: port: port {port} is taken by process {os.getpid()} (")
    assert "choose another" in line


def test_two_names_for_one_address(cluster: Cluster) -> None:
    cluster.per_node = {name: {"ansible_host": "10.0.0.1", "ansible_port": 2222} for name in cluster.names}
    cluster.write()
    (line,) = refusal(cluster, {})
    assert line.startswith("inventory: node0 and node1 are the same machine (10.0.0.1 port 2222); keep one")


def test_two_names_for_one_work_directory(cluster: Cluster) -> None:
    shared = cluster.home / "work" / "shared"
    cluster.policy["launch_workdir"] = str(shared)
    cluster.write()
    (line,) = refusal(cluster, {})
    assert line.startswith(f"node1: node: its work directory {shared} ")
    assert "is also used by node0; expected one machine" in line


def test_an_empty_group(cluster: Cluster) -> None:
    cluster.names = []
    cluster.write()
    (line,) = refusal(cluster, {"channels": 42})
    assert line.startswith(f"inventory: the group 'nodes' is missing or empty (read: {cluster.inventory}); give -i ")


@pytest.mark.parametrize(
    ("playbook", "advice"),
    [
        ("launch.yml", "Ansible would silently leave out nodes, use -e nnodes=N for fewer nodes"),
        ("playbooks/stop.yml", "stop contacts all nodes of a run, leave it out"),
        ("playbooks/list.yml", "list contacts no node, leave it out"),
    ],
)
def test_limit(cluster: Cluster, playbook: str, advice: str) -> None:
    played = cluster.play(playbook, "--limit", "node1")
    assert_nothing_started(cluster, played)
    assert played.messages == [f"--limit: expected none, saw 'node1'; {advice}"]


def test_tags(cluster: Cluster) -> None:
    """Ansible would run no task of the play and exit 0."""
    played = cluster.play("launch.yml", "--tags", "foo")
    assert_nothing_started(cluster, played)
    assert played.messages == ["--tags: expected none, saw 'foo'; the tasks of a verb have no tags, remove it"]


@pytest.mark.skipif(Path("/etc/ansible").exists(), reason="this machine has an inventory of its own")
def test_from_another_directory(cluster: Cluster) -> None:
    """No ansible.cfg, so no inventory: never "no hosts matched" and exit 0. With an inventory it works."""
    kept = {name: value for name, value in cluster.environment().items() if not name.startswith("ANSIBLE_")}
    environment = {**kept, "HOME": str(cluster.home), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
    elsewhere = cluster.home / "given"
    elsewhere.mkdir()

    def play(*options: str) -> Played:
        argv = [*PLAYBOOK, *options, str(ROOT / "launch.yml"), "-e", "channels=42"]
        return run_to_end(argv, environment, elsewhere, apart=True)

    played = play()
    assert played.rc == 2
    assert played.messages[0].startswith("inventory: the group 'nodes' is missing or empty (read: ")
    played = play("-i", str(cluster.inventory), "--check", "--diff")
    assert played.rc == 0
    assert "NCCL_MIN_NCHANNELS=42" in played.out
    assert not (cluster.home / "work").exists()


@pytest.mark.parametrize("hostile", [" ".join(SHELL), JINJA, "a\ntouch {0}"], ids=["shell", "jinja", "newline"])
def test_no_string_reaches_a_shell_or_a_template(cluster: Cluster, hostile: str) -> None:
    """Where a pattern can tell, the value is refused by name."""
    text = hostile.format(canary(cluster))
    names = ["label", "module", "run_id", "launcher", "mode", "time_limit", "channels", "follow"]
    control = ["script", "config", "script_args", "env"] if "\n" in text else []
    values: dict[str, Any] = dict.fromkeys([*names, *control], text)
    if control:
        values.update(script_args=[text], env={"X": text})
    lines = refusal(cluster, values)
    assert not canary(cluster).exists()
    assert sorted(line.partition(":")[0] for line in lines if "saw" in line) == sorted([*names, *control])
    assert all(len(line) < 300 for line in lines)


def test_no_path_reaches_a_shell(cluster: Cluster) -> None:
    text = " ".join([*SHELL, JINJA]).format(canary(cluster))
    script, config = refusal(cluster, {"script": f"a{text}.py", "config": f"b{text}.yml"})
    assert "does not exist" in script
    assert "does not exist" in config
    assert not canary(cluster).exists()


def test_hostile_strings_arrive_as_they_are(cluster: Cluster) -> None:
    """A file, arguments, a variable and directories with such names are only odd: the run is started and followed."""
    hostile = [text.format(canary(cluster)) for text in (*SHELL, JINJA)]
    code = cluster.home / "given; code $(id)"
    code.mkdir()
    name = "t; $(touch canary) `id` 'x'.py"
    (code / name).write_text(
        "import json, os, sys\n"
        "path = os.path.join(os.environ['MUSTER_OUTPUT_DIR'], f\"rank_0{os.environ['RANK']}.json\")\n"
        "json.dump([sys.argv[1:], os.environ['HOSTILE']], open(path, 'w'))\n"
    )
    workdir = str(cluster.home / "work; touch $(id) 'x'") + "/{{ inventory_hostname }}"
    cluster.policy.update(launch_code_dir=str(code), launch_workdir=workdir)
    cluster.write()
    given = {"script": name, "script_args": hostile, "env": {"HOSTILE": " ".join(hostile)}, "follow": True}
    played = cluster.launch(**given)
    assert played.rc == 0, played.out
    assert played.phases == {"node0": "succeeded", "node1": "succeeded"}
    assert not canary(cluster).exists()
    assert not (code / "canary").exists()
    for rank in range(2):
        arrived = cluster.experiments / RUN_ID / "outputs" / f"rank_0{rank}.json"
        assert json.loads(arrived.read_text()) == [hostile, " ".join(hostile)]


def test_variables_of_an_imported_playbook(cluster: Cluster) -> None:
    playbook = cluster.home / "given.yml"
    variables = {"channels": 42, "launch_workdir": "/elsewhere", "mine": 1, "label": "a"}
    playbook.write_text(json.dumps([{"import_playbook": str(ROOT / "launch.yml"), "vars": variables}]))
    played = cluster.play(str(playbook), "-e", "label=b")
    assert_nothing_started(cluster, played)
    assert played.messages == [
        "channels: set by `vars` of import_playbook, which a verb does not read; "
        "give it with -e channels=..., or set it in launch_defaults",
        "launch_workdir: set by `vars` of import_playbook, which a verb does not read; "
        "give it with -e launch_workdir=..., or set it for the group 'nodes' of the inventory",
    ]


@pytest.mark.parametrize("entry", ["main", "follow", "finish"])
def test_the_role_without_its_playbook(cluster: Cluster, entry: str) -> None:
    playbook = cluster.home / "given.yml"
    role = {"ansible.builtin.import_role": {"name": "muster.train.launch", "tasks_from": entry}}
    playbook.write_text(json.dumps([{"hosts": "nodes", "gather_facts": False, "tasks": [role]}]))
    played = cluster.play(str(playbook))
    assert_nothing_started(cluster, played)
    assert "no play has checked a request before this" in played.words
