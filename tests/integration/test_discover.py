# SPDX-License-Identifier: GPL-3.0-or-later
"""`discover` and `teardown` by real ssh: keys that are collected and asked about, hosts that are not reached."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc
from ansible_collections.muster.train.tests.support import sshd
from ansible_collections.muster.train.tests.support.desk import Desk
from ansible_collections.muster.train.tests.support.play import Played

pytestmark = pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))
HOST, OTHER = sshd.ADDRESSES


@pytest.fixture
def desk(server: sshd.Sshd, tmp_path: Path) -> Desk:
    return Desk(tmp_path, server)


def host(server: sshd.Sshd, address: str = HOST) -> str:
    return f"{address}:{server.port}"


FILES = ["lab/group_vars/nodes.yml", "lab/hosts.yml", "lab/known_hosts.txt"]


@pytest.mark.gate
def test_discover_writes_an_inventory_that_works(desk: Desk, server: sshd.Sshd) -> None:
    predicted = desk.discover("--check", "--diff", nodes=host(server), accept_keys=True)
    assert predicted.rc == 0, predicted.out
    assert desk.files() == []
    assert "+      ansible_host:" in predicted.out

    done = desk.discover(nodes=host(server), accept_keys=True)
    assert done.rc == 0, done.out
    assert done.changed["localhost"] == predicted.changed["localhost"] == 1
    assert "1 of 1 hosts answered" in done.out
    assert "reserved name" not in done.out
    shown = re.search(rf"^{HOST} +ED25519 +(SHA256:\S+)$", done.out, re.MULTILINE)
    assert shown, done.out
    listed = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(server.base / "host_key.pub")], capture_output=True, text=True, check=True
    )
    assert shown[1] == listed.stdout.split()[1]
    assert desk.files() == FILES
    assert desk.load("hosts.yml") == {"nodes": {"hosts": {HOST: {"ansible_host": HOST, "ansible_port": server.port}}}}
    order = [
        done.out.find(f"muster.train.{verb}", done.out.find("of 1 hosts")) for verb in ("setup", "preflight", "launch")
    ]
    assert -1 < order[0] < order[1] < order[2], done.out
    # With the inventory of the discover itself, the new one would be merged with it.
    printed = re.search(r"^ +look: +(\S.*)$", done.out, re.MULTILINE)
    assert printed, done.out
    assert shlex.split(printed[1]).count("-i") == 1
    key = " ".join((server.base / "host_key.pub").read_text().split()[:2])
    assert (desk.cluster / "known_hosts.txt").read_text() == f"[{HOST}]:{server.port} {key}\n"

    # By its own keys, whatever the user's known_hosts has.
    detected = desk.run("detect", inventory=str(desk.cluster))
    assert detected.rc == 0, detected.out
    assert "cluster: 1 node, 1 answered" in detected.out

    again = desk.discover(nodes=host(server), accept_keys=True)
    assert again.rc == 2
    assert "already exists" in again.messages[0] and "-e force=true" in again.messages[0]
    # Keys that were accepted are not asked about again.
    forced = desk.discover(nodes=host(server), force=True)
    assert (forced.rc, forced.changed["localhost"]) == (0, 0), forced.out


def test_without_a_terminal_no_key_is_accepted(desk: Desk, server: sshd.Sshd) -> None:
    done = desk.discover(nodes=host(server))
    assert done.rc == 2
    assert "SHA256:" in done.out
    assert "-e accept_keys=true" in done.messages[0]
    assert desk.files() == []
    assert "Gather facts of every host" not in done.out, "the play logged in"


@pytest.mark.parametrize(("answer", "files"), [("yes", FILES), ("no", [])])
def test_the_user_is_asked(desk: Desk, server: sshd.Sshd, answer: str, files: list[str]) -> None:
    command = desk.command(
        "discover",
        cluster="lab",
        nodes=host(server),
        ansible_ssh_private_key_file=str(server.base / "login_key"),
        ansible_ssh_extra_args="-F none -o IdentitiesOnly=yes",
    )
    out = on_a_terminal(command, desk, "Type yes or no", f"{answer}\r")
    assert desk.files() == files, out
    assert ("were not accepted" in out) == (answer == "no")


def on_a_terminal(command: list[str], desk: Desk, question: str, answer: str) -> str:
    """Run a command on a terminal of its own; answer once it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(desk.home)
        os.execvpe(command[0], command, desk.environment())
    out, next_answer, deadline = "", 0.0, time.monotonic() + 240
    while time.monotonic() < deadline:
        # What is typed before Ansible reads is thrown away: a person would type again too.
        if question in out and "\nok: " not in out.partition(question)[2] and time.monotonic() > next_answer:
            next_answer = time.monotonic() + 2
            os.write(terminal, answer.encode())
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:  # as a terminal ends
            break
        if not data:
            break
        out += data.decode("utf-8", "replace")
    else:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return out


def test_unreachable_hosts_are_reported_with_the_reason(desk: Desk, server: sshd.Sshd) -> None:
    """All at once; the others are written, and the lost ones stand in their places."""
    (desk.home / "node_ip_list.txt").write_text(
        f"nosuch.invalid\n{host(server)}  # the head to be\n127.0.1.9:1\nnobody-{os.getpid()}@{host(server, OTHER)}\n"
    )
    done = desk.discover(node_list="node_ip_list.txt", accept_keys=True)
    assert done.rc == 2, done.out
    assert "1 of 4 hosts answered" in done.out
    # Behind what Ansible itself says of the host that refused the login.
    last = Played(done.rc, done.out.partition("TASK [muster.train.discover : Write the inventory]")[2])
    message_of = {line.split(": ")[0]: line for line in last.messages[:-1]}
    assert ": name: the name nosuch.invalid does not resolve" in message_of["nosuch.invalid"]
    assert ": port: nothing listens on port 1 of 127.0.1.9" in message_of["127.0.1.9"]
    assert f": login: nobody-{os.getpid()} may not log in" in message_of[OTHER]
    assert f"ssh-copy-id nobody-{os.getpid()}@{OTHER}" in message_of[OTHER]
    assert list(desk.load("hosts.yml")["nodes"]["hosts"]) == [HOST]
    lost = [line.strip() for line in (desk.cluster / "hosts.yml").read_text().splitlines() if "not reached" in line]
    assert [line.split(":")[0] for line in lost] == ["# nosuch.invalid", "# 127.0.1.9", f"# {OTHER}"]


def test_no_host_answers(desk: Desk) -> None:
    done = desk.discover(nodes="nosuch[1-2].invalid", accept_keys=True)
    assert done.rc == 2
    assert [line.partition(":")[0] for line in done.messages] == ["nosuch1.invalid", "nosuch2.invalid"]
    assert desk.files() == []


def test_two_names_of_one_machine_are_refused(desk: Desk, server: sshd.Sshd) -> None:
    done = desk.discover(nodes=[host(server), host(server, OTHER)], accept_keys=True)
    assert done.rc == 2
    assert f"{OTHER}: node: it is the machine" in done.messages[0]
    assert done.messages[-1] == "nothing was written"
    assert desk.files() == []


def test_a_host_key_that_changed(desk: Desk, server: sshd.Sshd) -> None:
    desk.cluster.mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(desk.home / "other")], check=True)
    wrong = " ".join((desk.home / "other.pub").read_text().split()[:2])
    (desk.cluster / "known_hosts.txt").write_text(f"[{HOST}]:{server.port} {wrong}\n")
    done = desk.discover(nodes=host(server), accept_keys=True)
    assert done.rc == 2
    assert ": host key: " in done.messages[0] and "a different host key from the known one" in done.messages[0]
    assert f"ssh-keygen -R '[{HOST}]:{server.port}' -f " in done.messages[0]
    assert desk.files() == ["lab/known_hosts.txt"]


def test_a_host_without_python(desk: Desk, server: sshd.Sshd) -> None:
    done = desk.discover(nodes=host(server), accept_keys=True, ansible_python_interpreter="/nonexistent/python3")
    assert done.rc == 2
    assert f"{HOST}: python: no Python was found" in done.messages[0], done.out
    assert desk.files() == []


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"nodes": "-oProxyCommand=touch"}, "nodes: '-oProxyCommand=touch' is not a host name"),
        ({"nodes": "a;reboot"}, "nodes: 'a;reboot' is not a host name"),
        ({"nodes": "a,a"}, "nodes: a: a is given twice"),
        ({"nodes": "a", "user": "-l"}, "user: expected a user name"),
        ({"nodes": "a", "cluster": "../up"}, "cluster: expected 1 to 40 letters"),
        ({"nodes": "a", "node_list": "b"}, "nodes: expected the hosts in one way, saw nodes and node_list"),
        ({}, "nodes: expected the hosts in one way, saw none"),
    ],
)
def test_invalid_requests_are_refused_before_any_connection(parameters: dict[str, Any], line: str, desk: Desk) -> None:
    done = desk.discover(**parameters)
    assert done.rc == 2
    assert done.messages[0].startswith(line)
    assert "Collect the host keys" not in done.out
    assert desk.files() == []


def test_teardown_removes_and_reports_old_runs(desk: Desk, server: sshd.Sshd) -> None:
    assert desk.discover(nodes=host(server), accept_keys=True).rc == 0
    runs = server.home / "muster" / ".muster" / "nodes" / HOST / "runs"
    for name, days in (("old", 31), ("young", 1)):
        (runs / name).mkdir(parents=True)
        state = {"run_id": name, "phase": "succeeded", "ended": utc(time.time() - days * 86400)}
        (runs / name / "state.json").write_text(json.dumps(state))
        for path in (runs / name / "state.json", runs / name):
            os.utime(path, (time.time() - days * 86400,) * 2)
    (runs / "mine").mkdir()

    def teardown(*extra: str, **parameters: Any) -> Played:
        return desk.run("teardown", *extra, inventory=str(desk.cluster), launch_runtime="host", **parameters)

    predicted = teardown("--check", days=30)
    assert predicted.rc == 0, predicted.out
    assert re.search(rf"^{HOST} +would go +run directories: old$", predicted.out, re.MULTILINE), predicted.out
    assert sorted(os.listdir(runs)) == ["mine", "old", "young"]
    assert teardown().changed[HOST] == 0, "without days no run directory goes"
    done = teardown(days=30)
    assert (done.rc, done.changed) == (0, predicted.changed), done.out
    assert re.search(rf"^{HOST} +removed +run directories: old$", done.out, re.MULTILINE)
    assert sorted(os.listdir(runs)) == ["mine", "young"]
    again = teardown(days=30)
    assert (again.rc, again.changed[HOST]) == (0, 0)
    assert f"no run to remove on {HOST}" in again.out
    refused = teardown("--limit", HOST, days=30)
    assert refused.rc == 2 and "--limit" in refused.messages[0]
