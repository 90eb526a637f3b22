# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that enters the node of a rank, by what the inventory sets for it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import shell
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

# So that nothing is taken from the configuration of this machine.
SSH = {
    "ansible_connection": "ssh",
    "ansible_host": "10.0.0.2",
    "ansible_port": 2222,
    "ansible_user": "me",
    "ansible_ssh_private_key_file": "/keys/mine",
    "ansible_ssh_executable": "ssh",
    "ansible_ssh_args": "-o ControlMaster=auto",
    "ansible_ssh_common_args": "-J gate",
    "ansible_ssh_extra_args": "",
    "ansible_host_key_checking": True,
    "ansible_become": False,
}
LOCAL = {"ansible_connection": "local", "ansible_become": False}
REACH = ["ssh", "-t", "-p", "2222", "-i", "/keys/mine", "-J", "gate", "me@10.0.0.2"]
ENTER = ["sh", "-c", 'cd /code && exec "${SHELL:-sh}"']
INSIDE = ["exec", "--interactive", "--tty", "--workdir", "/code", f"muster-{RUN_ID}-1", "sh", "-c"]
BOX = {"name": "muster"}


def entered(
    home: Path, variables: dict[str, Any], container: object = None, rank: int | None = 3, node: str | None = None
) -> Conclusion:
    """What is printed for a rank; the second of two nodes has these variables."""
    (home / RUN_ID).mkdir(exist_ok=True)
    job = {"node_rank": 1, "cwd": "/code", "container": container}
    plan = {"nodes": ["node0", "node1"], "nproc": 2, "jobs": {"node1": job}}
    (home / RUN_ID / "plan.json").write_text(json.dumps(plan))
    hosts = {"node0": info("node0", "running", nnodes=2), "node1": {**variables, **info("node1", "running", nnodes=2)}}
    asked = {"rank": rank, "node": node}
    return shell.report.conclusion(play_of("shell", hosts, asked, experiments=str(home)))


def argv(home: Path, variables: dict[str, Any], container: object = None) -> list[str]:
    document = entered(home, variables, container).document
    assert document is not None
    return list(document["argv"])


def test_a_node_by_ssh(tmp_path: Path) -> None:
    assert argv(tmp_path, SSH) == [*REACH, shlex.join(ENTER)]
    unchecked = argv(tmp_path, {**SSH, "ansible_host_key_checking": False})
    assert unchecked == [*REACH[:-1], "-o", "StrictHostKeyChecking=no", REACH[-1], shlex.join(ENTER)]


def test_options_of_ssh_that_cannot_be_taken_apart(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="node1: ssh_args"):
        entered(tmp_path, {**SSH, "ansible_ssh_common_args": "-o 'x"})


def test_this_machine(tmp_path: Path) -> None:
    assert argv(tmp_path, LOCAL) == ENTER


def test_a_node_of_a_slurm_job(tmp_path: Path) -> None:
    words = argv(tmp_path, {**LOCAL, "ansible_connection": "muster.train.srun", "ansible_srun_job": "12"})
    assert words[words.index("srun") :][:4] == ["srun", "--export=ALL", "--pty", "--jobid=12"]
    assert "--nodelist=node1" in words
    assert words[words.index("--") + 1 :] == ENTER


@pytest.mark.parametrize("docker", [["sudo", "docker"], "sudo docker", None])
def test_a_container(tmp_path: Path, docker: object) -> None:
    words = argv(tmp_path, {**LOCAL, "launch_docker": docker}, BOX)
    program = ["sudo", "docker"] if docker else ["docker"]
    assert words[:-1] == [*program, *INSIDE]
    assert shlex.split(argv(tmp_path, {**SSH, "launch_docker": docker}, BOX)[-1]) == words


def test_docker_that_is_not_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="node1: launch_docker"):
        entered(tmp_path, {**LOCAL, "launch_docker": "'docker"}, BOX)


@pytest.mark.parametrize(("user", "name"), [(None, "root"), ("trainer", "trainer")])
def test_another_user(tmp_path: Path, user: str | None, name: str) -> None:
    become = {"ansible_become": "yes", "ansible_become_method": "ansible.builtin.sudo", "ansible_become_user": user}
    assert argv(tmp_path, {**LOCAL, **become}) == ["sudo", "-u", name, *ENTER]
    assert argv(tmp_path, {**SSH, **become}) == [*REACH, shlex.join(["sudo", "-u", name, *ENTER])]


@pytest.mark.parametrize(
    "variables",
    [
        {"ansible_connection": "community.docker.docker"},
        {"ansible_become": True, "ansible_become_method": "su"},
        {"ansible_become": True, "ansible_become_method": "community.general.doas"},
    ],
)
def test_other_ways_into_a_node_are_refused(tmp_path: Path, variables: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"node1: .*{list(variables.values())[-1]}"):
        entered(tmp_path, {**SSH, **variables})


def test_the_document(tmp_path: Path) -> None:
    conclusion = entered(tmp_path, SSH, BOX)
    document = conclusion.document
    assert document is not None
    words = document["argv"]
    assert document == {
        "argv": argv(tmp_path, SSH, BOX),
        "run_id": RUN_ID,
        "node": "node1",
        "rank": 3,
        "container": f"muster-{RUN_ID}-1",
        "directory": "/code",
        "line": shlex.join(words),
        "errors": [],
    }
    assert f"  {shlex.join(words)}" in texts(conclusion)


def test_a_node_in_place_of_a_rank(tmp_path: Path) -> None:
    document = entered(tmp_path, SSH, rank=None, node="node1").document
    assert document is not None
    assert (document["node"], document["rank"], document["argv"]) == ("node1", None, argv(tmp_path, SSH))


def test_a_rank_that_the_run_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"99.*-e rank"):
        entered(tmp_path, SSH, rank=99)
