# SPDX-License-Identifier: GPL-3.0-or-later
"""What real hosts do to a run: one is cut off the network, one boots, sessions of SSH break, a disk is full.

The ranks are idle and take part in nothing together, so that only the gang can notice. Hosts are asked from inside.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.support.cluster import WORKLOADS
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, Played, run_to_end
from ansible_collections.muster.train.tests.support.real_hosts import as_root, environment

pytestmark = pytest.mark.hosts

HOSTS = ("n1", "n2", "n3")
HOME = "/home/ann/gang"
RUN_ID = "multinode_autoch_autoth_20261120_143052_gang"
RUN_DIR = f"{HOME}/work/.muster/nodes/*/runs/{RUN_ID}"
SLOT = f"{HOME}/work/.muster/nodes/*/slots/default.lock"
MARK = f"MUSTER_RUN_ID={RUN_ID}"
LOST_AFTER_S = 6
# What the matrix of faults allows until all others have ended.
BOUND_S = 30
ENDED = ("succeeded", "failed", "stopped", "lost")
SERVICE = {"image": "muster-train:bookworm", "network_mode": "host", "init": True, "volumes": [f"{HOME}:{HOME}"]}
PREPARE = f"""
install -d -o ann -g ann {HOME} {HOME}/code
cat >{HOME}/code/sleeper.py <<'---'
{(WORKLOADS / "sleeper.py").read_text()}
---
cat >{HOME}/compose.yaml <<'---'
{json.dumps({"name": "muster-gang", "services": {"train": SERVICE}})}
---
"""
CLEAN = f"""
docker ps --all --quiet --filter label=muster.run_id={RUN_ID} | xargs --no-run-if-empty docker rm --force
grep -lsaF {MARK} /proc/[0-9]*/environ | cut -d / -f 3 | xargs --no-run-if-empty kill -KILL || :
rm -rf {HOME} /mnt/small/*
"""
# All that could be left of a run: processes, in containers too, and what Docker would start again.
LEFT = f"""
grep -lsaF {MARK} /proc/[0-9]*/environ || :
docker ps --quiet --filter label=muster.run_id={RUN_ID}
"""
# Every session of SSH, by the process that serves it.
BREAK = """
for session in $(pgrep --full '^sshd: ann'); do kill -KILL "$session" && echo "$session"; done
"""
# All hosts have the kernel's boot id: a host that has booted shows another one.
OTHER_BOOT = """
cat /proc/sys/kernel/random/uuid >/run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
"""


class Site:
    """The hosts with one runtime and directories of the test's own, and the run that is on them."""

    def __init__(self, inventory: Path, runtime: str, home: Path) -> None:
        self._inventory, self._home = inventory, home
        self.mended: list[str] = []
        variables = yaml.safe_load((inventory / "group_vars" / "nodes.yml").read_text())
        self._network = variables["cluster_name"]
        self._hosts = yaml.safe_load((inventory / "hosts.yml").read_text())["nodes"]["hosts"]
        self.policy = {
            "launch_runtime": runtime,
            "launch_workdir": f"{HOME}/work",
            "launch_code_dir": f"{HOME}/code",
            "launch_compose_file": f"{HOME}/compose.yaml",
            "launch_defaults": {"script": "sleeper.py", "launcher": "python", "nproc": 1},
            "launch_stop_grace": 5,
            "launch_abort_grace": 2,
            "launch_lost_after": LOST_AFTER_S,
            "launch_experiments_dir": str(home / "experiments"),
        }

    def play(
        self, verb: str, per_host: dict[str, dict[str, Any]] | None = None, kept: bool = False, **asked: Any
    ) -> Played:
        """Play a verb on the run, in sessions that stay open if `kept`."""
        more = self._home / "more.yml"
        hosts = {host: {**self.policy, **(per_host or {}).get(host, {})} for host in HOSTS}
        more.write_text(yaml.safe_dump({"nodes": {"hosts": hosts}}))
        words = ["-i", str(self._inventory), "-i", str(more), f"muster.train.{verb}"]
        mine = {"COLUMNS": "120", **({} if kept else {"ANSIBLE_SSH_ARGS": "-o ControlPath=none"})}
        asking = ["-e", json.dumps({"run_id": RUN_ID, **asked})]
        return run_to_end([*PLAYBOOK, *words, *asking], {**environment(), **mine})

    def launch(self, kept: bool = False) -> None:
        """Start a run that goes on, and wait until its ranks write."""
        played = self.play("launch", kept=kept, follow=False, script_args="--seconds 3000")
        assert played.rc == 0, played.out
        wait_for(lambda: all(self.steps()), "the ranks write")

    def on_hosts(self, script: str, hosts: Sequence[str] = HOSTS) -> dict[str, str]:
        """Run a script as root on these hosts, of which none needs its network."""
        with ThreadPoolExecutor() as pool:
            return dict(zip(hosts, pool.map(lambda host: as_root(self._inventory, host, script), hosts), strict=True))

    def states(self, hosts: Sequence[str] = HOSTS) -> dict[str, dict[str, Any]]:
        """Return what the runners of these hosts wrote."""
        texts = self.on_hosts(f"cat {RUN_DIR}/state.json 2>/dev/null || echo '{{}}'", hosts)
        return {host: json.loads(text) for host, text in texts.items()}

    def phases(self, *hosts: str) -> list[str]:
        return [str(state.get("phase")) for state in self.states(hosts or HOSTS).values()]

    def steps(self) -> list[int]:
        """Return how many steps the rank of each host has reported."""
        counts = self.on_hosts(f"cat {RUN_DIR}/outputs/*_metrics.jsonl 2>/dev/null | wc -l")
        return [int(text) for text in counts.values()]

    def left(self, *hosts: str) -> dict[str, str]:
        """Return what is left of the run on these hosts, those with nothing left out."""
        return {host: text for host, text in self.on_hosts(LEFT, hosts or HOSTS).items() if text}

    def wait_until_ended(self, *hosts: str) -> None:
        """Wait as long as it may take."""
        wait_for(lambda: all(phase in ENDED for phase in self.phases(*hosts)), f"{hosts} have ended", BOUND_S)

    def wait_until_gone(self) -> None:
        """Wait until nothing of the run is left: a runner ends after it has written the run's end."""
        wait_for(lambda: self.left() == {}, "nothing is left", BOUND_S)

    def cut(self, host: str) -> None:
        """Take a host off the network."""
        self._docker("network", "disconnect", self._network, f"{self._network}-{host}")

    def mend(self, host: str) -> None:
        """Give it its place there again, though its interface has another name until the host boots."""
        address = self._hosts[host]["ansible_host"]
        self._docker("network", "connect", "--ip", address, self._network, f"{self._network}-{host}")
        self.mended.append(host)

    def boot(self, host: str) -> None:
        """Boot a host as if its power had failed; return when all its services are up."""
        for verb in ("kill", "start"):
            self._docker(verb, f"{self._network}-{host}")
        as_root(self._inventory, host, OTHER_BOOT)
        up = "systemctl is-system-running 2>/dev/null || :"
        wait_for(lambda: as_root(self._inventory, host, up) == "running\n", f"{host} is up", 90)

    def _docker(self, *words: str) -> None:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def site(request: pytest.FixtureRequest, real_inventory: Path, tmp_path: Path) -> Iterator[Site]:
    made = Site(real_inventory, getattr(request, "param", "host"), tmp_path)
    try:
        made.on_hosts(CLEAN + PREPARE)
        yield made
    finally:
        made.on_hosts(CLEAN)
        for host in made.mended:
            made.boot(host)


def test_sessions_break_and_a_node_is_cut_off(site: Site) -> None:
    site.launch(kept=True)
    before = site.states()
    # Those in which the runners were started.
    broken = site.on_hosts(BREAK)
    assert all(broken.values()), broken
    steps = site.steps()
    wait_for(lambda: all(now > then for now, then in zip(site.steps(), steps, strict=True)), "it trains on", BOUND_S)
    after = site.states()
    assert {host: (state["phase"], state["attempt"], state["pid"]) for host, state in after.items()} == {
        host: ("running", 0, state["pid"]) for host, state in before.items()
    }

    site.cut("n3")
    try:
        site.wait_until_ended("n1", "n2")
        # No other node reaches it, and it ends itself.
        site.wait_until_ended("n3")
        site.wait_until_gone()
    finally:
        site.mend("n3")
    played = site.play("status")
    assert played.rc == 0, played.out
    assert re.search(rf"  lost · .*\n  n3: no sign of life from its runner for {LOST_AFTER_S} s\n", played.out), (
        played.out
    )
    for host in ("n1", "n2"):
        end = site.states()[host]["end"]
        assert (end["verdict"], end["node"]) == ("lost", "n3"), end


@pytest.mark.parametrize("site", ["docker"], indirect=True)
def test_a_node_boots(site: Site) -> None:
    site.launch()
    site.boot("n2")
    site.wait_until_ended("n1", "n3")
    site.wait_until_gone()
    assert site.on_hosts(f"flock --nonblock {SLOT} echo free") == dict.fromkeys(HOSTS, "free\n")
    played = site.play("status")
    assert played.rc == 0, played.out
    assert re.search(r"  lost · .*\n  n2: the node was rebooted while the run was running", played.out), played.out

    played = site.play("launch", script_args="--seconds 1")
    assert played.rc == 0, played.out
    assert "succeeded · 3 ranks on 3 nodes" in played.out


def test_a_full_disk_on_one_node_starts_no_node(site: Site) -> None:
    with contextlib.ExitStack() as mends:
        mends.callback(site.on_hosts, "rm -rf /mnt/small/work /mnt/small/full", ["n2"])
        full = "install -d -o ann -g ann /mnt/small/work; dd if=/dev/zero of=/mnt/small/full bs=4k 2>/dev/null || :"
        site.on_hosts(full, ["n2"])
        played = site.play("launch", {"n2": {"launch_workdir": "/mnt/small/work"}}, follow=False)
        assert played.rc != 0
        assert "n2: disks: /mnt/small/work (/mnt/small) is 100 % full" in played.out, played.out
        assert site.left() == {}
        assert site.on_hosts(f"find {HOME} /mnt/small -name {RUN_ID}") == dict.fromkeys(HOSTS, "")
