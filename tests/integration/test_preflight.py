# SPDX-License-Identifier: GPL-3.0-or-later
"""`preflight` on two local nodes: its exit codes, and that a launch goes by its checks."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.checkouts import git
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import Played


@pytest.fixture
def checkouts(cluster: Cluster) -> Cluster:
    """The same cluster with a checkout for each node."""
    for name in cluster.names:
        code = cluster.home / "code" / name
        code.mkdir(parents=True)
        (code / "train.py").write_text("print('train')\n")
        git(code, "init", "--quiet", "--initial-branch=main")
        git(code, "add", ".")
        commit(code, "one")
        cluster.per_node[name] = {"launch_code_dir": str(code)}
    cluster.policy["launch_defaults"] = {"script": "train.py", "launcher": "python", "nproc": 1}
    cluster.ignore_machine()
    return cluster


def commit(folder: Path, message: str) -> None:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    when = "2026-01-01T00:00:00Z"
    words = ["git", "-C", str(folder), *who, "commit", "--quiet", "-m", message, f"--date={when}"]
    subprocess.run(
        words, check=True, stdin=subprocess.DEVNULL, env={"GIT_COMMITTER_DATE": when, "PATH": "/usr/bin:/bin"}
    )


def preflight(cluster: Cluster, *extra: str) -> Played:
    return cluster.verb("preflight", *extra, preflight_json=str(cluster.home / "preflight.json"))


@pytest.mark.gate
def test_exit_codes_and_a_launch_that_depends_on_them(checkouts: Cluster) -> None:
    well = preflight(checkouts)
    assert well.rc == 0, well.out
    assert re.search(r"^preflight: 2 nodes, 2 answered; .* passed", well.out, re.MULTILINE)
    document = json.loads((checkouts.home / "preflight.json").read_text())
    assert document["code"] == 0
    assert {result["status"] for result in document["results"]} <= {"pass", "skip"}
    first_port = str(checkouts.policy["launch_port_range"]).partition("-")[0]
    attempts = [result["observed"] for result in document["results"] if result["check"] == "reach"]
    assert [attempt.partition(" ")[0] for attempt in attempts] == [f"127.0.0.1:{first_port}"] * 2

    odd = checkouts.home / "code" / "node1"
    (odd / "more.py").write_text("")
    git(odd, "add", ".")
    commit(odd, "two")
    failed = preflight(checkouts)
    assert failed.rc == 1, failed.out
    assert "preflight: failed: code on node1" in failed.out
    assert "fatal:" not in failed.out
    assert re.search(r"^commit +[0-9a-f]{12} +node1: [0-9a-f]{12}$", failed.out, re.MULTILINE)

    refused = checkouts.launch()
    assert refused.rc == 2, refused.out
    assert f"git -C {odd} checkout" in refused.out
    assert not checkouts.run_dir("node0").exists()

    checkouts.policy["preflight_levels"]["code"] = "warn"
    checkouts.write()
    assert preflight(checkouts).rc == 0


def test_a_node_that_does_not_answer_is_code_2(checkouts: Cluster) -> None:
    checkouts.per_node["node1"]["ansible_python_interpreter"] = "/nowhere/python3"
    checkouts.write()
    played = preflight(checkouts)
    assert played.rc == 2, played.out
    assert "could not be checked: answer on node1" in played.out


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("preflight_levels", {"clok": "warn"}, "there is no check 'clok'; did you mean 'clock'?"),
        ("launch_port_range", "29400", "it is '29400'; expected FIRST-LAST with 1024 <= FIRST < LAST <= 65535"),
    ],
)
def test_invalid_policy_is_refused(checkouts: Cluster, name: str, value: object, message: str) -> None:
    checkouts.policy[name] = value
    checkouts.write()
    played = preflight(checkouts)
    assert played.rc == 2, played.out
    assert message in " ".join(played.out.split())
    assert checkouts.launch().rc == 2
