# SPDX-License-Identifier: GPL-3.0-or-later
"""A token in launch_secrets, planted on real hosts: the ranks have it, and no one else ever sees it.

Where it may be: in the private file of a run, for its owner alone, until the runner has read it; in the environment of
the ranks. Nowhere else on the hosts, in what was printed, kept or collected, or on this machine; when the run has
ended, nowhere at all. The same holds for the run's key, which no rank has.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import death
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.planted import HOME, HOSTS, RUN_DIR, RUN_ID, Site

pytestmark = pytest.mark.hosts

SCRIPT = """
import hashlib, os, time
print("knows", hashlib.sha256(os.environ["HF_TOKEN"].encode()).hexdigest(), flush=True)
for _moment in range(3000):
    if os.path.exists("over"):
        break
    time.sleep(0.1)
"""
IMAGE = "muster-train:bookworm"
SERVICE = {"image": IMAGE, "network_mode": "host", "init": True, "volumes": [f"{HOME}:{HOME}"]}
COMPOSE = {"name": "muster-secret", "services": {"train": SERVICE}}
PREPARE = f"""
install -d -o ann -g ann {HOME} {HOME}/code
cat >{HOME}/code/confidant.py <<'---'
{SCRIPT}
---
cat >{HOME}/compose.yaml <<'---'
{json.dumps(COMPOSE)}
---
touch /run/secrets-mark
"""
CLEAN = f"""
docker ps --all --quiet --filter label=muster.run_id={RUN_ID} | xargs --no-run-if-empty docker rm --force
grep -lsaF MUSTER_RUN_ID={RUN_ID} /proc/[0-9]*/environ | cut -d / -f 3 | xargs --no-run-if-empty kill -KILL || :
rm -rf {HOME} /run/secrets-*
"""


@pytest.fixture
def site(request: pytest.FixtureRequest, real_inventory: Path, tmp_path: Path) -> Iterator[Site]:
    made = Site(real_inventory, request.param, tmp_path)
    try:
        made.on_hosts(CLEAN + PREPARE)
        yield made
    finally:
        made.on_hosts(CLEAN)


def is_rank(holder: str) -> bool:
    """Return whether a line of the search is a rank, which may have the secret."""
    return holder.startswith("environment ") and "confidant.py" in holder


@pytest.mark.parametrize("site", ["host"], indirect=True)
def test_the_search_finds_the_secret_where_it_is(site: Site) -> None:
    site.on_hosts(f"""
        echo {site.token} >{HOME}/found; chmod 0644 {HOME}/found
        logger {site.token}
        systemd-run --quiet --collect --unit=muster-found --setenv=FOUND={site.token} sh -c 'sleep 300; :' {site.token}
        docker run --detach --name found --env FOUND={site.token} {IMAGE} sh -c 'echo $FOUND; sleep 300; :'
        """)
    try:
        kinds = {f"file 644 {HOME}/found", "command lines", "journal", "units", "docker inspect", "docker logs"}
        for holders in site.search():
            assert kinds <= set(holders)
            assert any(holder.startswith("environment ") for holder in holders)
    finally:
        site.on_hosts("systemctl stop muster-found || :; docker rm --force found")


@pytest.mark.parametrize("site", ["docker", "host"], indirect=True)
def test_only_the_ranks_have_the_secret(site: Site) -> None:
    watchers, here = site.watch(), site.watch_here()
    try:
        launch = site.begin("launch", "-vvv", "--diff", "-e", "follow=true")
        wait_for(
            lambda: launch.poll() is not None or all(watcher.says("spoke") for watcher in watchers),
            "the ranks speak",
            300,
        )
        digest = hashlib.sha256(site.token.encode()).hexdigest()
        spoken = site.on_hosts(f"grep -ho 'knows .*' {RUN_DIR}/logs/rank_*.log || :")
        assert spoken == [[f"knows {digest}"]] * len(HOSTS), site.output
        if site.runtime == "docker":
            assert all(site.on_hosts(f"docker ps --quiet --filter label=muster.run_id={RUN_ID}"))
        for holders in site.search():
            assert holders
            assert all(map(is_rank, holders)), holders
        site.on_hosts(f"touch {HOME}/code/over")
        assert launch.wait(300) == 0, site.output
    finally:
        records = [watcher.end() for watcher in (*watchers, here)]

    # For its owner alone, in a directory that is closed to others.
    private = [secret for of_machine in records for secret in of_machine["private"]]
    assert private
    assert all(secret["modes"] == [0o600, 0o700] for secret in private)
    [key] = {secret["key"] for secret in private}
    assert len(key) == 64
    for of_machine, known in zip(records, [*["runner.pyz"] * len(HOSTS), "muster.train.launch"], strict=True):
        lines = "\n".join(of_machine["lines"])
        assert known in lines
        assert site.token not in lines
        assert key not in lines
    assert "ESTABLISH SSH CONNECTION" in site.output
    assert (site.experiments / RUN_ID / "plan.json").exists()
    # Also no other key was made, and none is kept with the run.
    assert site.search(key) == [[]] * len(HOSTS)
    assert site.search_here(key) == []


# What is prepared is soon begun: a watcher may have been asleep.
REACHED = {
    "prepared": lambda watcher: watcher.says("prepared") or watcher.says("begun"),
    "begun": lambda watcher: watcher.says("begun"),
}


@pytest.mark.parametrize(
    ("site", "moment"),
    [("docker", "prepared"), ("host", "asked"), ("host", "begun")],
    indirect=["site"],
)
def test_a_killed_controller_leaves_no_secret_behind(site: Site, moment: str) -> None:
    watchers = site.watch()
    try:
        # As where the collection was installed without the checkout's ansible.cfg.
        launch = site.begin("launch", "-e", "follow=false", ANSIBLE_PIPELINING="0")
        while not (site.has_asked() if moment == "asked" else any(map(REACHED[moment], watchers))):
            assert launch.poll() is None, site.output
            time.sleep(0.001)
        death.strike(launch, "everything")
        launch.wait(60)
        site.wait_until_quiet()
    finally:
        records = [watcher.end() for watcher in watchers]
    lines = "\n".join(line for of_machine in records for line in of_machine["lines"])
    assert site.token not in lines
    remaining = site.search()
    print("after the kill:", remaining)  # shown when the test fails
    # A run that has begun; one that was laid out and that no runner has taken.
    run_dir = rf"{HOME}/work/\.muster/nodes/[^/]+/runs/{RUN_ID}"
    waiting = re.compile(rf"file 600 {run_dir}/private\.[0-9a-f]{{32}}\.json(\.\d+\.new)?")
    assert all(is_rank(holder) or waiting.fullmatch(holder) for holders in remaining for holder in holders)
    assert site.search_here() == []
