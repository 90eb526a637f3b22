# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten faults, really made on real hosts: preflight finds each by the right check on the right node, and nothing else.

Faults that cannot hide each other share a play. The good cluster is asked last, which also proves the repairs.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import as_root, environment

pytestmark = pytest.mark.hosts

HOSTS = ("n1", "n2", "n3")
# Another name for the first of them.
ALIAS = "again"
PORT = 29480
LATE_S = 1000
HOME = "/home/ann/faults"
CODE = f"{HOME}/code"
AS_ANN = "setpriv --reuid=ann --regid=ann --clear-groups env HOME=/home/ann"
GIT = f"{AS_ANN} git -C {CODE}"
PREPARE = f"""
rm -rf {HOME}
install -d -o ann -g ann {HOME} {CODE}
cd {CODE}
for name in train parts; do echo "print('$name')" >$name.py; done
chown ann:ann *.py
{GIT} init --quiet --initial-branch=main
{GIT} add .
# One commit on every host: the dates are part of it.
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
{GIT} -c user.name=ann -c user.email=ann@example.org commit --quiet -m one
"""
POLICY = {
    "launch_runtime": "docker",
    "launch_workdir": f"{HOME}/work",
    "launch_code_dir": CODE,
    "launch_defaults": {"script": "train.py", "nproc": 2, "master_port": PORT},
}
IMAGE = "muster-train:bookworm"
# The hosts have the kernel's one clock: it is the Python that reads it which is off.
LATE = f"""
mkdir -p /opt/late
cat >/opt/late/sitecustomize.py <<'---'
import time
right, right_ns = time.time, time.time_ns
time.time = lambda: right() - {LATE_S}
time.time_ns = lambda: right_ns() - {LATE_S} * 10**9
---
printf '%s\\n' '#!/bin/sh' 'PYTHONPATH=/opt/late exec /usr/bin/python3 "$@"' >/opt/late/python3
chmod 0755 /opt/late/python3
"""
LISTEN = f"import socket, time; taken = socket.create_server(('', {PORT})); time.sleep(600)"


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a host: the shell that makes and repairs it, the variables that belong to it, and what finds it.

    The last four are regular expressions for all of what the finding says.
    """

    node: str
    check: str
    observed: str
    expected: str
    remedy: str
    make: str = ""
    mend: str = ""
    variables: dict[str, Any] = dataclasses.field(default_factory=dict)
    status: str = "fail"
    # Checks that do not pass either because of this very fault, and their status.
    also: dict[str, str] = dataclasses.field(default_factory=dict)


ALONE = {
    "port taken": Fault(
        node="n1",
        make=f'systemd-run --quiet --collect --uid=ann --unit=takes-the-port python3 -c "{LISTEN}"',
        mend="systemctl stop takes-the-port",
        check="port",
        observed=r"port 29480 is taken by process \d+ \(python3\)",
        expected="two free ports on the head: .*",
        remedy="choose another, .*",
    ),
    "full disk": Fault(
        node="n1",
        make="install -d -o ann -g ann /mnt/small/work; dd if=/dev/zero of=/mnt/small/full bs=4k 2>/dev/null || :",
        mend="rm -rf /mnt/small/work /mnt/small/full",
        variables={"launch_workdir": "/mnt/small/work"},
        check="disks",
        observed=r"/mnt/small/work \(/mnt/small\) is 100 % full, 0\.0 GiB free",
        expected="below 95 %",
        remedy="free space on /mnt/small, or .*",
    ),
    "wrong branch": Fault(
        node="n2",
        make=f"{GIT} checkout --quiet -b other",
        mend=f"{GIT} checkout --quiet main; {GIT} branch --quiet -D other",
        check="code",
        observed="branch other",
        expected="one branch on every node, main as on n1 and n3",
        remedy=f".*'git -C {CODE} checkout main'; or .* muster.train.setup --tags code",
    ),
    "host name on 127.0.1.1": Fault(
        node="n2",
        # Docker has mounted this very file: it can be written, and not be another one.
        make="cp /etc/hosts /root/hosts; printf '%s\\n' '127.0.0.1 localhost' '127.0.1.1 n2' >/etc/hosts",
        mend="cat /root/hosts >/etc/hosts; rm /root/hosts",
        check="names",
        observed=r"its own name n2 resolves to 127\.0\.1\.1",
        expected="an address that the other nodes reach: .*",
        remedy="correct the line of n2 in /etc/hosts there .*",
    ),
    "dirty tree": Fault(
        node="n3",
        make=f"echo 'import os' >>{CODE}/parts.py",
        mend=f"{GIT} checkout --quiet parts.py",
        check="code",
        observed=r"changes [0-9a-f]{12} in parts\.py",
        expected="the same changes on every node, no changes as on n1 and n2",
        remedy=f".*'git -C {CODE} status --short'; then .* muster.train.setup --tags code",
    ),
    "clock off": Fault(
        node="n3",
        make=LATE,
        mend="rm -r /opt/late",
        variables={"ansible_python_interpreter": "/opt/late/python3"},
        check="clock",
        observed=r"at least \d+\.\d s behind the controller",
        expected="within 15 s",
        remedy="let chrony or systemd-timesyncd set it: .*",
    ),
}
TOGETHER = {
    "same machine twice": Fault(
        node=ALIAS,
        check="node",
        observed=f"its work directory {HOME}/work on host n1 is also used by n1",
        expected="one machine, .* for each node",
        remedy="remove again or n1 from the group nodes, or .*",
    ),
    "other image digest": Fault(
        node="n2",
        make=f"""
            tar --create --files-from=/dev/null | docker import --message other - fault:other >/dev/null
            docker tag {IMAGE} fault:kept
            docker tag fault:other {IMAGE}""",
        mend=f"docker tag fault:kept {IMAGE}; docker rmi fault:kept fault:other >/dev/null",
        check="image",
        observed="sha256:[0-9a-f]{64}",
        expected="sha256:[0-9a-f]{64}",
        remedy=".* muster.train.setup --tags container -e container_pull=always; .*",
    ),
    "no sudo": Fault(
        node="n3",
        make="mv /etc/sudoers.d/ann /root/sudoers",
        mend="mv /root/sudoers /etc/sudoers.d/ann",
        check="sudo",
        status="warn",
        observed="sudo -n true: sudo: a password is required",
        expected="passwordless sudo: .*",
        remedy=r"add to /etc/sudoers.d there: ann ALL=\(ALL\) NOPASSWD:ALL",
        # launch_docker calls it by sudo.
        also={"engine": "fail"},
    ),
}
SILENT = {
    "unreachable host": Fault(
        node="n3",
        make="systemctl stop ssh",
        mend="systemctl start ssh",
        check="answer",
        status="error",
        observed=".* port 22: Connection refused",
        expected="an SSH server",
        remedy="start sshd there, or .*",
    ),
}
# By the exit code: a check failed, also where another could not look; one could not look.
PLAYS = {"alone": (ALONE, 1), "together": (TOGETHER, 1), "silent": (SILENT, 2)}
FAULTS = {name: (play, fault) for play, (faults, _code) in PLAYS.items() for name, fault in faults.items()}


@dataclasses.dataclass(frozen=True)
class Played:
    """A play of preflight: how it ended, what it printed and what it wrote."""

    code: int
    out: str
    document: dict[str, Any]

    @property
    def unwell(self) -> set[tuple[str, str, str]]:
        """Check, node and status of all that is neither a pass nor not applicable."""
        results = self.document["results"]
        return {
            (result["check"], result["node"], result["status"])
            for result in results
            if result["status"] not in ("pass", "skip")
        }


def preflight(inventory: Path, home: Path, faults: dict[str, Fault]) -> Played:
    """Preflight the hosts with the variables that belong to these faults."""
    addresses = yaml.safe_load((inventory / "hosts.yml").read_text())["nodes"]["hosts"]
    hosts: dict[str, dict[str, Any]] = {name: {**POLICY} for name in HOSTS}
    for fault in faults.values():
        hosts.setdefault(fault.node, {**addresses[HOSTS[0]], **POLICY}).update(fault.variables)
    more, report = home / "more.yml", home / "preflight.json"
    more.write_text(yaml.safe_dump({"nodes": {"hosts": hosts}}))
    words = ["-i", str(inventory), "-i", str(more), "muster.train.preflight", "-e", f"preflight_json={report}"]
    # A connection that another play left open would outlive its sshd.
    mine = {"ANSIBLE_SSH_ARGS": "-o ControlPath=none", "COLUMNS": "120"}
    done = run_to_end([*PLAYBOOK, *words], {**environment(), **mine})
    assert report.exists(), done.out
    document = json.loads(report.read_text())
    report.unlink()
    return Played(done.rc, done.out, document)


@pytest.fixture(scope="module")
def plays(real_inventory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """What preflight says of the faults of each play, and of the good cluster after all were repaired."""
    home = tmp_path_factory.mktemp("faults")
    with ExitStack() as cleanup:
        for host in HOSTS:
            cleanup.callback(as_root, real_inventory, host, f"rm -rf {HOME}")
            as_root(real_inventory, host, PREPARE)
        played = {}
        for name, (faults, _code) in PLAYS.items():
            with ExitStack() as mends:
                for fault in faults.values():
                    if fault.make:
                        mends.callback(as_root, real_inventory, fault.node, fault.mend)
                        as_root(real_inventory, fault.node, fault.make)
                played[name] = preflight(real_inventory, home, faults)
        played["good"] = preflight(real_inventory, home, {})
        yield played


def test_a_healthy_cluster_has_no_problem(plays: dict[str, Played]) -> None:
    good = plays["good"]
    assert good.code == good.document["code"] == 0, good.out
    assert not [problem for problem in good.unwell if problem[2] == "fail"], good.out


@pytest.mark.parametrize("name", PLAYS)
def test_no_other_check_reports_a_problem(plays: dict[str, Played], name: str) -> None:
    faults, code = PLAYS[name]
    played = plays[name]
    meant = {(fault.check, fault.node, fault.status) for fault in faults.values()}
    meant |= {(check, fault.node, status) for fault in faults.values() for check, status in fault.also.items()}
    # What this machine is like, as a disk that is nearly full.
    of_the_machine = plays["good"].unwell
    of_the_machine |= {(check, ALIAS, status) for check, node, status in of_the_machine if node == HOSTS[0]}
    assert played.unwell - of_the_machine == meant, played.out
    assert played.code == played.document["code"] == code, played.out


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_reported(plays: dict[str, Played], name: str) -> None:
    play, fault = FAULTS[name]
    where = (fault.check, fault.node, fault.status)
    results = [
        result
        for result in plays[play].document["results"]
        if (result["check"], result["node"], result["status"]) == where
    ]
    assert len(results) == 1, plays[play].out
    assert f"\n  {fault.check} on {fault.node}: " in plays[play].out
    for part in ("observed", "expected", "remedy"):
        assert re.fullmatch(getattr(fault, part), results[0][part]), results[0]
