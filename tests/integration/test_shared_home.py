# SPDX-License-Identifier: GPL-3.0-or-later
"""Three real hosts without disks of their own share one home, with the code in it: from discover to teardown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import as_root, environment
from ansible_collections.muster.train.tests.support.way import HOSTS

pytestmark = pytest.mark.hosts

# What all hosts mount, and what is a person's home on each of them here.
SHARED = "/mnt/shared/home"
SCRIPT = """
import os, socket, sys, time
print("runs on", socket.gethostname(), "as", os.environ["RANK"], flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.1)
"""
PATIENCE_S = 180.0


@dataclass
class Desk:
    """Where a person sits who has three hosts and no inventory yet; `addresses` are in the order of HOSTS."""

    home: Path
    hosts: Path
    addresses: list[str]
    login: dict[str, str]
    # Containers may lock no more memory than the machine below allows; real hosts need no such setting.
    limit: dict[str, str]

    @property
    def inventory(self) -> Path:
        return self.home / "inventories" / "lab"

    def play(self, verb: str, *options: str, **asked: Any) -> str:
        """Play a verb, which must succeed; return what it printed."""
        source = str(self.inventory) if self.inventory.exists() else "localhost,"
        words = ["-i", source, f"muster.train.{verb}", "-e", json.dumps(asked), *options]
        mine = {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_SSH_EXTRA_ARGS": "-F none -o IdentitiesOnly=yes",
        }
        played = run_to_end([*PLAYBOOK, *words], {**environment(), **mine}, self.home)
        assert played.rc == 0, f"{verb}:\n{played.out}"
        return played.out

    def record(self) -> tuple[Path, dict[str, Any]]:
        """Return the newest experiment and what the controller wrote of it."""
        latest = (self.home / "experiments" / "latest").resolve()
        return latest, yaml.safe_load((latest / "run.yml").read_text())

    def runs(self) -> list[str]:
        """Return the directories of runs in the shared home, as node/run."""
        script = f"cd {SHARED}/muster/.muster/nodes && ls -d */runs/* 2>/dev/null || :"
        return [line.replace("/runs", "") for line in as_root(self.hosts, HOSTS[0], script).split()]

    def state(self, node: str, run_id: str) -> dict[str, Any]:
        """Return the state that a node wrote of a run, empty before there is one."""
        path = f"{SHARED}/muster/.muster/nodes/{node}/runs/{run_id}/state.json"
        return dict(json.loads(as_root(self.hosts, HOSTS[0], f"cat {path} 2>/dev/null || echo '{{}}'")))


def changes(printed: str) -> list[int]:
    """Return how many tasks changed something on each of the hosts."""
    return [int(number) for number in re.findall(r"^10\.\S+ +: ok=\d+ +changed=(\d+)", printed, re.MULTILINE)]


def phases(printed: str) -> dict[str, str]:
    """Return each node's phase in a printed table of nodes."""
    return dict(re.findall(r"^(10\.\S+) +[-\d]+(?: \(for \S+\))? +(\w+)", printed, re.MULTILINE))


@pytest.fixture
def desk(real_inventory: Path, tmp_path: Path) -> Iterator[Desk]:
    """Let the hosts share a home that has a user's packages and code, and no other disk with room."""
    variables = yaml.safe_load((real_inventory / "group_vars" / "nodes.yml").read_text())
    hosts = yaml.safe_load((real_inventory / "hosts.yml").read_text())["nodes"]["hosts"]
    first, *_others = HOSTS
    try:
        as_root(
            real_inventory,
            first,
            f"""
            packages={SHARED}/.local/lib/python3.11/site-packages
            mkdir -p {SHARED}/muster/code "$packages"
            cp -a /home/ann/.ssh {SHARED}/
            echo /opt/torch >"$packages/torch.pth"
            printf '%s' '{SCRIPT}' >{SHARED}/muster/code/train.py
            chown -R ann:ann {SHARED}
            """,
        )
        for host in HOSTS:
            as_root(real_inventory, host, f"mount --bind {SHARED} /home/ann && mount -t tmpfs tmpfs /var/tmp")
        yield Desk(
            tmp_path,
            real_inventory,
            [hosts[host]["ansible_host"] for host in HOSTS],
            {"user": "ann", "ansible_ssh_private_key_file": variables["ansible_ssh_private_key_file"]},
            {"memlock_limit": variables["memlock_limit"]},
        )
    finally:
        for host in HOSTS:
            as_root(real_inventory, host, "umount -l /home/ann || :; umount -l /var/tmp || :")
        as_root(real_inventory, first, f"rm -rf {SHARED}")


def test_from_discover_to_teardown(desk: Desk) -> None:
    head, member, spare = desk.addresses
    printed = desk.play("discover", cluster="lab", nodes=desk.addresses, accept_keys=True, **desk.login)
    assert "3 of 3 hosts answered" in printed
    policy = yaml.safe_load((desk.inventory / "group_vars" / "nodes.yml").read_text())
    assert (policy["launch_workdir"], policy["launch_code_dir"]) == ("~/muster", "~/muster/code")
    desk.play("setup", **desk.limit)
    # Files enough that three copies into one directory would meet.
    code = {"code_source": "rsync", "code_rsync_path": str(ROOT / "tests" / "unit"), "launch_code_dir": "~/copied"}
    desk.play("setup", "--tags", "code", **code)
    assert changes(desk.play("setup", "--tags", "code", **code)) == [0, 0, 0]

    printed = desk.play("launch", script="train.py", script_args=["/"])
    assert phases(printed) == dict.fromkeys(desk.addresses, "succeeded")
    experiment, record = desk.record()
    assert (record["verdict"], record["nodes"]) == ("succeeded", desk.addresses)
    for rank, host in enumerate(HOSTS):
        [log] = (experiment / "logs").glob(f"node_{rank}_*.txt")
        assert f"runs on {host} as {rank}" in log.read_text()
    first = record["run_id"]
    assert desk.runs() == [f"{node}/{first}" for node in desk.addresses]

    # The third host becomes a spare, as docs/add-a-cluster.md has it.
    inventory = yaml.safe_load((desk.inventory / "hosts.yml").read_text())
    inventory["spares"] = {"hosts": {spare: inventory["nodes"]["hosts"].pop(spare)}}
    (desk.inventory / "hosts.yml").write_text(yaml.safe_dump(inventory))
    (desk.inventory / "group_vars" / "spares.yml").symlink_to("nodes.yml")
    desk.play("launch", script="train.py", script_args=["/home/ann/never"], max_restarts=1, follow=False)
    run_id = desk.record()[1]["run_id"]
    wait_for(lambda: "a spare" in str(desk.state(spare, run_id).get("why")), "the spare has joined", PATIENCE_S)
    wait_for(lambda: desk.state(member, run_id).get("phase") == "running", "the member runs", PATIENCE_S)
    as_root(desk.hosts, HOSTS[1], f"kill -KILL {desk.state(member, run_id)['pid']}")
    wait_for(lambda: desk.state(spare, run_id).get("phase") == "running", "the spare runs", PATIENCE_S)
    wait_for(lambda: desk.state(head, run_id).get("attempt") == 1, "the head runs again", PATIENCE_S)
    living = {head: "running", member: "lost", spare: "running"}
    assert phases(desk.play("status", run_id=run_id)) == living

    assert phases(desk.play("stop", run_id=run_id)) == {head: "stopped", member: "lost", spare: "stopped"}
    assert desk.runs() == [f"{node}/{run}" for node in desk.addresses for run in (first, run_id)]
    desk.play("teardown", days=0)
    assert desk.runs() == []
