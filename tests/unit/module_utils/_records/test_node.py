# SPDX-License-Identifier: GPL-3.0-or-later
"""Records cross from node to controller as plain data, and come back the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings, Job, Rendezvous, Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gdr
from ansible_collections.muster.train.plugins.module_utils._records.subsets import SUBSETS
from ansible_collections.muster.train.plugins.module_utils._records.system import Memlock
from ansible_collections.muster.train.tests.support.machines import load

JOB: dict[str, Any] = {
    "schema": 1,
    "run_id": "multinode_20261120_143052",
    "nonce": "ab" * 16,
    "node": "node0",
    "node_rank": 0,
    "nnodes": 2,
    "nproc": 2,
    "world_size": 4,
    "first_rank": 0,
    "runtime": "host",
    "launcher": "torchrun",
    "workdir": "/w",
    "run_dir": "/w/.muster/nodes/node0/runs/r",
    "output_dir": "/w/.muster/nodes/node0/runs/r/outputs",
    "code_dir": "/c",
    "cwd": "/c",
    "slot": "default",
    "rendezvous": {"address": "10.0.0.1", "port": 29500},
    "gang": {"port": 29499, "lost_after": 12, "max_restarts": 0, "nodes": ["n1"]},
    "argv": ["python3", "train.py"],
    "environment": [
        {
            "name": "OMP_NUM_THREADS",
            "value": "1",
            "origin": "muster",
            "reason": "2 cores",
            "rule": "",
            "layer": "machine",
        }
    ],
    "starter": "setsid",
    "background_wait": 60,
    "checkpoint_dir": "",
    "starter_reason": "auto",
    "starter_fallback": None,
    "time_limit": 0,
    "stop_grace": 60,
    "abort_grace": 10,
    "join_timeout": 20,
    "disk_wait": 300,
    "log_limit": 268435456,
    "label": None,
    "created": "2026-11-20T14:30:52Z",
}


def test_a_job_survives_json() -> None:
    job = Job.from_dict(json.loads(json.dumps(JOB)))
    assert job.rendezvous == Rendezvous("10.0.0.1", 29500)
    assert job.gang == GangSettings(29499, 12, 0, ["n1"])
    assert job.environment == [Variable("OMP_NUM_THREADS", "1", "muster", "2 cores", layer="machine")]
    assert job.to_dict() == {
        **JOB,
        "container": None,
        "metrics_pattern": None,
        "notice": None,
        "hang_watch": 0,
        "hang_action": "warn",
        "telemetry": 0,
        "traceback_grace": 0,
        "transport": None,
        "slurm": None,
    }


def test_a_job_with_unknown_or_missing_keys_is_refused() -> None:
    with pytest.raises(TypeError, match="surprise"):
        Job.from_dict({**JOB, "surprise": 1})
    with pytest.raises(TypeError, match="run_id"):
        Job.from_dict({name: value for name, value in JOB.items() if name != "run_id"})


@pytest.mark.parametrize("name", ["laptop", "hgx_h100", "mi300x", "container"])
@pytest.mark.parametrize("subset", [SUBSETS, ()])
def test_facts_survive_json(tmp_path: Path, name: str, subset: tuple[str, ...]) -> None:
    query = FactsQuery(
        "/home/me/muster", "/home/me/code", files=("train.py",), config="c.yaml", ports=(29500,), subset=subset
    )
    facts = gather(load(name, tmp_path), query).node
    assert NodeFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


def test_unknown_and_missing_keys_are_ignored(tmp_path: Path) -> None:
    facts = gather(load("laptop", tmp_path), FactsQuery("/home/me/muster", "/home/me/code")).node
    data = facts.to_dict()
    data["new"] = 1
    data["user"]["new"] = 1
    data["net"]["routes"][0]["new"] = 1
    for part in (data["container"], data["disks"][0], data["versions"], data["limits"]["nofile"]):
        part["new"] = 1
    del data["holder"]
    assert NodeFacts.from_dict(data) == facts


def test_facts_of_an_older_version_are_read(tmp_path: Path) -> None:
    query = FactsQuery("/home/me/muster", "/home/me/code", subset=("net", "limits"))
    facts = gather(load("laptop", tmp_path), query).node
    data = facts.to_dict()
    for name in ("limits", "container", "disks", "versions", "tools", "kernel", "timings"):
        del data[name]
    data["memlock"] = {"soft": 8388608, "hard": 8388608}
    data["gpu"] = {"vendor": None, "count": 0}
    data["net"]["hcas"] = ["mlx5_0"]
    old = NodeFacts.from_dict(data)
    assert (old.net, old.memlock, old.timings) == (facts.net, Memlock(8388608, 8388608), {})
    assert (old.limits, old.container, old.disks, old.versions, old.tools, old.kernel) == (None,) * 6


def test_unreadable_gpudirect_modules_are_not_absent() -> None:
    assert Gdr(None, None, None, None).loaded is None
    assert Gdr(False, False, None, False).loaded == []
    assert Gdr(True, False, None, True).loaded == ["nvidia_peermem", "amdkfd"]
