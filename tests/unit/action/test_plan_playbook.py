# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a launch as a task of a real playbook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from ansible_collections.muster.train.tests.support.plan_parts import NO_GPU, POLICY, RUN_ID, facts_dict, request
from ansible_collections.muster.train.tests.support.rdma_parts import rdma

ALONE = {"rdma": rdma(()).to_dict(), "gpu": dict(NO_GPU)}
ROOT = Path(__file__).resolve().parents[3]


def test_through_ansible_playbook(tmp_path: Path) -> None:
    """Two hosts with lazy variables and facts that look like templates; what comes out is what was put in."""
    danger = "{{ lookup('pipe', 'echo evaluated') }}"
    nodes = {}
    for number in range(2):
        facts = facts_dict(number, workdir__path=f"/w/{number}")
        nodes[f"node{number}"] = {"given": json.dumps(facts), "launch_node_env": {"ME": "{{ inventory_hostname }}"}}
    # As of a role's default, what only the task knows: the hosts' own variables have no `root`.
    policy = {"launch_slot": "{{ 'sl' ~ 'ow' }}", "launch_env": {"CACHE": "{{ root }}/cache"}}
    reached = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    cluster = {"vars": {**POLICY, **reached, **policy}, "hosts": nodes}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"nodes": cluster}))
    (tmp_path / "request.json").write_text(json.dumps(request(2, script_args=[danger])))
    answer = {"node": "{{ given | from_json }}", **ALONE}
    tasks = [
        {"ansible.builtin.set_fact": {"launch__facts": {"ansible_facts": answer}}},
        {
            "muster.train.step": {"name": "launch.plan"},
            "vars": {"root": "/r"},
            "run_once": True,
            "register": "made",
        },
        {
            "ansible.builtin.copy": {
                "content": "{{ made.plan | to_json }}",
                "dest": str(tmp_path / "plan.json"),
                "mode": "0600",
            },
            "check_mode": False,
            "diff": False,
            "run_once": True,
        },
    ]
    checked = {"request": "{{ lookup('file', playbook_dir ~ '/request.json') | from_json }}", "request_token": "now"}
    checking = {"ansible.builtin.set_fact": {"launch__request": checked}}
    plays = [
        {"hosts": "localhost", "gather_facts": False, "tasks": [checking]},
        {"hosts": "nodes", "gather_facts": False, "tasks": tasks},
    ]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(plays, sort_keys=False))
    (tmp_path / "ansible.cfg").touch()
    settings = {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        [
            sys.executable,
            str(Path(sys.executable).with_name("ansible-playbook")),
            *("-i", str(tmp_path / "hosts.yml"), "--check", "--diff", str(tmp_path / "play.yml")),
        ],
        env={**{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}, **settings},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["jobs"]["node1"]["argv"][-1] == danger
    assert plan["jobs"]["node1"]["slot"] == "slow"
    assert [job["workdir"] for job in plan["jobs"].values()] == ["/w/0", "/w/1"]
    assert {
        "name": "CACHE",
        "value": "/r/cache",
        "origin": "cluster (launch_env)",
        "reason": "",
        "rule": "",
        "layer": "cluster",
    } in plan["jobs"]["node1"]["environment"]
    of_me = [[item["value"] for item in job["environment"] if item["name"] == "ME"] for job in plan["jobs"].values()]
    assert of_me == [["node0"], ["node1"]]
    assert f"+++ after: the plan of {RUN_ID}" in done.stdout
    assert "+node 1: node1, rank 1" in done.stdout
    assert done.stdout.count("+node 0:") == 1
