# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch costs two round trips per node, preflight one: by Ansible's events, and by the nodes' own interpreters."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from ansible_runner.interface import run

from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, find_step
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT, search_path

STEP = "muster.train.step"
FACTS, JOB, FOLLOW = "launch.gather", "launch.start", "follow.watch"


def counted(cluster: Cluster) -> None:
    """Give every node an interpreter of Ansible's modules that notes each of its starts."""
    for node in cluster.names:
        python = cluster.home / f"python-{node}"
        python.write_text(f'#!/bin/sh\necho started >>"{cluster.home}/{node}.starts"\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        cluster.per_node[node] = {"ansible_python_interpreter": str(python)}
    cluster.write()


def starts(cluster: Cluster, node: str) -> int:
    return len((cluster.home / f"{node}.starts").read_text().splitlines())


def launch(cluster: Cluster, tmp_path: Path, **parameters: Any) -> list[tuple[str, str, str]]:
    """Launch by ansible-runner; return what `play` does."""
    return play(cluster, tmp_path, "launch.yml", run_id=RUN_ID, **parameters)


def play(cluster: Cluster, tmp_path: Path, playbook: str, **parameters: Any) -> list[tuple[str, str, str]]:
    """Run a playbook by ansible-runner; return (host, action or step, outcome) of every task, in order."""
    (tmp_path / "runner").mkdir()
    done = run(
        private_data_dir=str(tmp_path / "runner"),
        project_dir=str(ROOT),
        playbook=str(ROOT / playbook),
        inventory=str(cluster.inventory),
        extravars=parameters,
        envvars={
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "1",
            "PATH": search_path(),
        },
        quiet=True,
    )
    assert (done.status, done.rc) == ("successful", 0), done.stdout.read()
    events = []
    for event in done.events:
        kind, data = event["event"], event.get("event_data", {})
        if kind.startswith("runner_on_") and kind not in ("runner_on_start", "runner_on_skipped"):
            action = data.get("resolved_action") or data["task_action"]
            name = data["task_args"].removeprefix("name=") if action == STEP else action
            events.append((data["host"], name, kind.removeprefix("runner_on_")))
    return events


def by_node(events: list[tuple[str, str, str]]) -> dict[str, list[str]]:
    names = defaultdict(list)
    for host, action, outcome in events:
        assert outcome == "ok"
        names[host].append(action)
    return names


def on_node(actions: list[str]) -> list[str]:
    """Leave out the controller's own steps: they run once, on the head's name, and execute no module anywhere."""
    return [name for name in actions if not _concludes(name)]


def _concludes(action: str) -> bool:
    return not action.startswith("muster.train.") and isinstance(find_step(action), Conclude)


@pytest.mark.gate
def test_two_modules_per_node_until_the_ranks_run(cluster: Cluster, tmp_path: Path) -> None:
    cluster.names = ["a", "b", "c"]
    counted(cluster)
    actions = by_node(launch(cluster, tmp_path, channels=42, follow=False, script_args=["--seconds", "300"]))
    head, *others = cluster.names
    assert on_node(actions[head]) == [FACTS, JOB]
    for node in others:
        assert actions[node] == [FACTS, JOB]
    assert {node: starts(cluster, node) for node in cluster.names} == dict.fromkeys(cluster.names, 2)
    # The head is told by the network that all run; each node's own state file follows when its disk is ready.
    cluster.wait_phase(RUN_ID, "running")


def test_following_runs_no_module(cluster: Cluster, tmp_path: Path) -> None:
    counted(cluster)
    events = launch(cluster, tmp_path, script_args=["--seconds", "3"])
    order = [(host, action) for host, action, _time in events]
    at = order.index(("node0", FOLLOW))
    before, after = by_node(events[:at]), by_node(events[at + 1 :])
    assert on_node(before["node0"]) == [FACTS, JOB]
    assert before["node1"] == [FACTS, JOB]
    # Then each node is asked once more, for the files that are collected.
    assert on_node(after["node0"]) == ["collect.fetch"]
    assert after["node1"] == ["collect.fetch"]
    assert {node: starts(cluster, node) for node in cluster.names} == {"node0": 3, "node1": 3}


def test_preflight_contacts_every_node_once(cluster: Cluster, tmp_path: Path) -> None:
    cluster.names = ["a", "b", "c"]
    cluster.ignore_machine()
    counted(cluster)
    actions = by_node(play(cluster, tmp_path, "playbooks/preflight.yml"))
    assert [on_node(actions[node]) for node in cluster.names] == [["preflight.gather_facts"]] * 3
    assert {node: starts(cluster, node) for node in cluster.names} == dict.fromkeys(cluster.names, 1)


@pytest.mark.gate
def test_status_and_stop_ask_the_head_alone(cluster: Cluster, tmp_path: Path) -> None:
    cluster.names = ["a", "b", "c"]
    counted(cluster)
    for name in ("launching", "asking", "stopping"):
        (tmp_path / name).mkdir()
    launch(cluster, tmp_path / "launching", follow=False, script_args=["--seconds", "300"])
    cluster.wait_phase(RUN_ID, "running")
    for node in cluster.names:
        (cluster.home / f"{node}.starts").write_text("")
    by_node(play(cluster, tmp_path / "asking", "playbooks/status.yml", run_id=RUN_ID))
    assert {node: starts(cluster, node) for node in cluster.names} == {"a": 1, "b": 0, "c": 0}
    by_node(play(cluster, tmp_path / "stopping", "playbooks/stop.yml", run_id=RUN_ID))
    assert {node: starts(cluster, node) for node in cluster.names} == {"a": 3, "b": 0, "c": 0}
    assert cluster.processes() == []
