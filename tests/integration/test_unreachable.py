# SPDX-License-Identifier: GPL-3.0-or-later
"""Every verb says of a node that cannot be reached which it is, what ssh said, and what to do, as discover does."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import Played

pytestmark = pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))


def refused(server: sshd.Sshd, home: Path, node1: dict[str, Any]) -> tuple[str, str]:
    """Launch on node0, which answers, and this node1; return all that was printed, and the last message."""
    hosts = server.per_node()
    hosts["node1"].update(node1)
    cluster = Cluster(home, policy=server.policy(), per_node=hosts)
    try:
        played = cluster.play("launch.yml")
        assert played.rc != 0, played.out
        assert "Start the job" not in played.out
        plan = Played(played.rc, played.out.partition("Plan the run]")[2])
        return played.out, " ".join(plan.messages)
    finally:
        cluster.destroy()


def test_a_port_that_refuses(server: sshd.Sshd, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind((sshd.ADDRESSES[1], 0))
        _out, message = refused(server, tmp_path, {"ansible_port": closed.getsockname()[1]})
    assert re.fullmatch(
        r"node1: answer: ssh: connect to host 127.0.1.2 port [0-9]+: Connection refused; "
        r"expected an SSH server \(Ansible\); start sshd there, or set its port \(ansible_port; .*\)",
        message,
    )


def test_another_host_key(server: sshd.Sshd, tmp_path: Path) -> None:
    other = server.base / "login_key.pub"  # any key that is not the server's
    known = tmp_path / "known_hosts"
    known.write_text(f"[{sshd.ADDRESSES[1]}]:{server.port} {other.read_text()}")
    options = server.policy()["ansible_ssh_common_args"].replace(str(server.base / "known_hosts"), str(known))
    _out, message = refused(server, tmp_path, {"ansible_ssh_common_args": options})
    changed = f"Host key for [{sshd.ADDRESSES[1]}]:{server.port} has changed and you have requested strict checking."
    assert message.startswith(f"node1: answer: {changed} Host key verification failed.; ")
    assert "expected the known key: the machine was reinstalled, or this is another machine" in message
    assert f"ssh-keygen -R '[{sshd.ADDRESSES[1]}]:{server.port}' -f {known}" in message


def test_no_host_key(server: sshd.Sshd, tmp_path: Path) -> None:
    options = server.policy()["ansible_ssh_common_args"].replace(str(server.base / "known_hosts"), "/dev/null")
    _out, message = refused(server, tmp_path, {"ansible_ssh_common_args": options})
    assert message.startswith("node1: answer: ")
    assert "host key is known for [127.0.1.2]:" in message
    assert "expected a key that is in" in message


def test_another_user(server: sshd.Sshd, tmp_path: Path) -> None:
    out, message = refused(server, tmp_path, {"ansible_user": "nobody"})
    assert message.startswith("node1: answer: nobody@127.0.1.2: Permission denied (publickey).; expected")
    assert "expected a login by key (Ansible); install your public key there" in message
    assert "ok: [node0]" in out


REMEDY = "expected an SSH server (Ansible); start sshd there, or set its port (ansible_port; for discover, "
BRIEF = "muster.train.brief"
# Of the verbs with a run: what the rest of each is about is in other tests.
EXPLAINED = {"logs": 0, "collect": 2, "stop": 2, "follow": 2, "status": 0}


@pytest.fixture(scope="module")
def half_reached(server: sshd.Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a run that has ended, whose head is not reached any more."""
    cluster = Cluster(tmp_path_factory.mktemp("half"), policy=server.policy(), per_node=server.per_node())
    try:
        launched = cluster.launch(script_args=["--seconds", "0.1"], follow=True)
        assert launched.rc == 0, launched.out
        cluster.per_node["node0"] = {**cluster.per_node["node0"], "ansible_port": 1}
        cluster.write()
        yield cluster
    finally:
        cluster.destroy()


@pytest.mark.parametrize("verb", EXPLAINED)
def test_every_verb_says_once_why_a_node_is_not_reached_and_what_to_do(half_reached: Cluster, verb: str) -> None:
    played = half_reached.play(f"playbooks/{verb}.yml", "-e", f"run_id={RUN_ID}", ANSIBLE_STDOUT_CALLBACK=BRIEF)
    assert played.rc == EXPLAINED[verb], played.out
    refused = f"ssh: connect to host {sshd.ADDRESSES[0]} port 1: Connection refused"
    assert played.out.count(f"node0: answer: {refused}; {REMEDY}{sshd.ADDRESSES[0]}:PORT)") == 1, played.out
    assert played.out.count(refused) == 1
    assert "Data could not be sent" not in played.out


@pytest.mark.parametrize("verb", ["setup", "detect", "rdma", "gpus", "teardown"])
def test_so_do_those_without_a_run(half_reached: Cluster, verb: str) -> None:
    page = ["-e", f"page={half_reached.home}/{verb}.html"] if verb in ("detect", "rdma") else []
    played = half_reached.play(f"playbooks/{verb}.yml", *page, ANSIBLE_STDOUT_CALLBACK=BRIEF)
    assert played.rc != 0
    assert played.out.count(f"port 1: Connection refused; {REMEDY}{sshd.ADDRESSES[0]}:PORT)") == 1, played.out
    assert played.out.count("Connection refused") == 1
    assert "Data could not be sent" not in played.out
