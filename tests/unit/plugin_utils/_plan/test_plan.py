# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: whole plans of small, mixed and large clusters."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.system import Inherited
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import (
    NONCE,
    RUN_ID,
    facts_dict,
    node,
    nodes,
    policy,
    request,
)
from ansible_collections.muster.train.tests.support.plans import NVIDIA, environment, plan_of, variable
from ansible_collections.muster.train.tests.support.rdma_parts import hca
from ansible_collections.muster.train.tests.support.words import without_words

RUN_DIR = f"/home/ann/muster/.muster/nodes/node1/runs/{RUN_ID}"
AMD = {"vendor": "amd", "count": 8}


def local_nodes(count: int) -> list[Node]:
    """Nodes that are one machine, each with its own work directory."""
    same = facts_dict(0)
    paths = [f"/srv/muster/node{number}" for number in range(count)]
    return [node(0, workdir={**same["workdir"], "path": path, "identity": path}) for path in paths]


def named(inputs: list[Node]) -> list[Node]:
    return [dataclasses.replace(node, name=f"node{number}", address="127.0.0.1") for number, node in enumerate(inputs)]


# -- whole plans -----------------------------------------------------------------------------------------------------


def test_two_cpu_nodes() -> None:
    plan = without_words(plan_of(channels=42))
    jobs = plan.pop("jobs")
    asked = request(2, channels=42)
    assert plan == {
        "schema": 1,
        "run_id": RUN_ID,
        "nonce": NONCE,
        "created": "2026-11-20T14:30:52Z",
        "parameters": without_words(asked["parameters"]),
        "experiment": f"/home/ann/experiments/{RUN_ID}",
        "command": "ansible-playbook launch.yml -e channels=42",
        "cluster": "lab",
        "options": [],
        "controller": {"host": "laptop", "user": "ann"},
        "versions": asked["versions"],
        "nodes": ["node0", "node1"],
        "head": {"node": "node0", "address": "10.0.0.1"},
        "spares": [],
        "nnodes": 2,
        "nproc": 1,
        "world_size": 2,
        "fabric": {"value": "tcp"},
        "master_port": 29656,
        "code": {
            "path": "/home/ann/code",
            "commit": "a" * 40,
            "branch": "main",
            "dirty": False,
            "changes": None,
            "tree": None,
        },
        "findings": [],
        "not_set": {"node0": [], "node1": []},
    }
    assert list(jobs) == ["node0", "node1"]
    job = jobs["node1"]
    assert [item["name"] for item in job["environment"]] == sorted(item["name"] for item in job["environment"])
    assert {item["name"]: (item["value"], item["layer"]) for item in job.pop("environment")} == {
        "GLOO_SOCKET_IFNAME": ("eth0", "fabric"),
        "MLFLOW_RUN_CONTEXT": (f'{{"mlflow.runName": "{RUN_ID}", "muster.run_id": "{RUN_ID}"}}', "default"),
        "MUSTER_HANG_WATCH": ("120", "machine"),
        "MUSTER_NODE": ("node1", "machine"),
        "MUSTER_NONCE": (NONCE, "machine"),
        "MUSTER_OUTPUT_DIR": (f"{RUN_DIR}/outputs", "machine"),
        "MUSTER_RUN_DIR": (RUN_DIR, "machine"),
        "MUSTER_RUN_ID": (RUN_ID, "machine"),
        "NCCL_IB_DISABLE": ("1", "fabric"),
        "NCCL_MAX_NCHANNELS": ("42", "extra_vars"),
        "NCCL_MIN_NCHANNELS": ("42", "extra_vars"),
        "NCCL_SOCKET_IFNAME": ("=eth0", "fabric"),
        "NNODES": ("2", "machine"),
        "NODE_RANK": ("1", "machine"),
        "OMP_NUM_THREADS": ("8", "machine"),
        "PET_NODE_RANK": ("1", "machine"),
        "PET_RDZV_ENDPOINT": ("10.0.0.1:29656", "machine"),
        "PYTHONUNBUFFERED": ("1", "machine"),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": ("55", "machine"),
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": (f"{RUN_DIR}/hangs/nccl_trace_rank_", "default"),
        "TORCH_NCCL_DUMP_ON_TIMEOUT": ("1", "default"),
        "TORCH_NCCL_TRACE_BUFFER_SIZE": ("2000", "default"),
        "WANDB_DIR": (f"{RUN_DIR}/outputs", "default"),
        "WANDB_NAME": (RUN_ID, "default"),
        "WANDB_RUN_GROUP": (RUN_ID, "default"),
    }
    assert job == {
        "schema": 1,
        "run_id": RUN_ID,
        "nonce": NONCE,
        "node": "node1",
        "node_rank": 1,
        "nnodes": 2,
        "nproc": 1,
        "world_size": 2,
        "first_rank": 1,
        "runtime": "host",
        "launcher": "torchrun",
        "workdir": "/home/ann/muster",
        "run_dir": RUN_DIR,
        "output_dir": f"{RUN_DIR}/outputs",
        "code_dir": "/home/ann/code",
        "cwd": "/home/ann/code",
        "slot": "default",
        "rendezvous": {"address": "10.0.0.1", "port": 29656},
        "gang": {"port": 29655, "lost_after": 12, "max_restarts": 0, "nodes": []},
        "argv": [
            "/usr/bin/python3",
            f"{RUN_DIR}/torchrun.py",
            "--nnodes=2",
            "--nproc-per-node=1",
            "--rdzv-backend=static",
            f"--rdzv-id={RUN_ID}",
            "--rdzv-conf=timeout=300",
            f"--log-dir={RUN_DIR}/errors",
            "--max-restarts=0",
            "/home/ann/code/train.py",
        ],
        "starter": "setsid",
        "background_wait": 60,
        "checkpoint_dir": "",
        "starter_fallback": None,
        "time_limit": 0,
        "stop_grace": 60,
        "abort_grace": 10,
        "traceback_grace": 120,
        "join_timeout": 20,
        "disk_wait": 300,
        "log_limit": 256 * 1024 * 1024,
        "label": None,
        "created": "2026-11-20T14:30:52Z",
        "container": None,
        "metrics_pattern": None,
        "notice": None,
        "hang_watch": 120,
        "hang_action": "warn",
        "telemetry": 10,
        "transport": None,
        "slurm": None,
    }


def test_one_node_without_a_route_meets_itself() -> None:
    plan = plan_of(1, facts={"net__routes": [], "gpu": NVIDIA})
    assert (plan["head"]["node"], plan["head"]["address"]) == ("node0", "127.0.0.1")
    assert (plan["nnodes"], plan["nproc"], plan["world_size"]) == (1, 8, 8)
    assert environment(plan)["GLOO_SOCKET_IFNAME"] == "lo"


def test_three_nvidia_nodes() -> None:
    plan = plan_of(3, facts={"gpu": NVIDIA, "hcas": [hca("mlx5_0")]}, threads=512)
    assert plan["fabric"]["value"] == "rdma"
    assert [job["first_rank"] for job in plan["jobs"].values()] == [0, 8, 16]
    assert [job["node_rank"] for job in plan["jobs"].values()] == [0, 1, 2]
    assert plan["world_size"] == 24
    for name in plan["nodes"]:
        assert environment(plan, name)["NCCL_NTHREADS"] == "512"
        assert environment(plan, name)["OMP_NUM_THREADS"] == "1"
        assert not {"RCCL_THREADS_PER_BLOCK", "NCCL_IB_DISABLE", "NCCL_MIN_NCHANNELS"} & set(environment(plan, name))


@pytest.mark.parametrize(
    ("kind", "name", "nproc"),
    [
        ("login", "CUDA_VISIBLE_DEVICES", 2),
        ("image", "CUDA_VISIBLE_DEVICES", 2),
        ("image", "ROCR_VISIBLE_DEVICES", 8),  # of another vendor
        ("nccl", "CUDA_VISIBLE_DEVICES", 8),  # NCCL alone reads its file
    ],
)
def test_what_ranks_inherit_limits_the_gpus_that_they_see(kind: str, name: str, nproc: int) -> None:
    inherited = [Inherited(kind, kind, {name: "0,1"})]
    plain = nodes(1, gpu=NVIDIA)[0]
    on = [dataclasses.replace(plain, facts=dataclasses.replace(plain.facts, inherited=inherited))]
    assert make_plan(request(1), policy(), on)["nproc"] == nproc


def test_amd_nodes_have_their_own_name_for_threads_too() -> None:
    plan = plan_of(
        2, facts={"gpu": AMD}, threads={"value": 256, "origin": "environment THREADS", "layer": "environment"}
    )
    for name in ("NCCL_NTHREADS", "RCCL_THREADS_PER_BLOCK"):
        assert variable(plan, name) == ("256", "environment")


def test_nodes_of_one_machine_share_its_cores_and_may_meet_on_the_loopback() -> None:
    plan = make_plan(request(2, nproc=2), policy(head_address="127.0.0.1"), named(local_nodes(2)))
    assert (plan["nproc"], plan["world_size"]) == (2, 4)
    for name in plan["nodes"]:
        assert environment(plan, name)["OMP_NUM_THREADS"] == "2"
        assert environment(plan, name)["NCCL_SOCKET_IFNAME"] == "=lo"
    assert plan["jobs"]["node0"]["run_dir"] != plan["jobs"]["node1"]["run_dir"]


def test_a_gpu_off_the_nvlink_fabric_is_a_warning_of_the_plan() -> None:
    links = [{"a": a, "b": b, "relation": "SYS" if b == 7 else "NV18"} for a in range(8) for b in range(a + 1, 8)]
    findings = plan_of(1, mode="tcp", facts={"gpu": {**NVIDIA, "links": links}})["findings"]
    assert [(finding["node"], finding["status"], finding["check"]) for finding in findings] == [
        ("node0", "warn", "gpus")
    ]


def test_a_thousand_nodes() -> None:
    plan = plan_of(1000, facts={"gpu": NVIDIA})
    assert (plan["nnodes"], plan["world_size"]) == (1000, 8000)
    ranks = [job["first_rank"] + rank for job in plan["jobs"].values() for rank in range(job["nproc"])]
    assert ranks == list(range(8000))
    assert list(plan["jobs"]) == plan["nodes"] == [f"node{number}" for number in range(1000)]
    assert {job["rendezvous"]["port"] for job in plan["jobs"].values()} == {plan["master_port"]}


def test_a_plan_is_data_and_its_jobs_are_what_a_runner_reads() -> None:
    plan = plan_of(config="big.yaml", script_args=["--lr", "3e-4"], env={"A": "é"}, label="x", time_limit=60)
    assert json.loads(json.dumps(plan)) == plan
    job = Job.from_dict(plan["jobs"]["node0"])
    assert job.to_dict() == plan["jobs"]["node0"]
    assert (job.label, job.time_limit) == ("x", 60)


def test_the_same_input_gives_the_same_plan_and_is_left_alone() -> None:
    asked, on = request(2, channels=42, env={"B": "1", "A": "2"}), nodes(2, gpu=AMD)
    before = copy.deepcopy((asked, on))
    first = json.dumps(make_plan(asked, policy(env={"Z": "1", "Y": "2"}), on))
    assert (asked, on) == before
    again = request(2, channels=42, env={"A": "2", "B": "1"})
    second = make_plan(again, policy(env={"Y": "2", "Z": "1"}), on)
    assert json.loads(first)["jobs"] == second["jobs"]
    assert json.dumps(second["jobs"]) == json.dumps(json.loads(first)["jobs"])


# -- command lines ---------------------------------------------------------------------------------------------------


def test_paths_are_expanded_per_node_and_the_config_comes_last() -> None:
    other = {"train.py": facts_dict(0)["files"]["train.py"], "big.yaml": facts_dict(0)["files"]["big.yaml"]}
    moved = {asked: {**file, "path": f"/srv/{asked}"} for asked, file in other.items()}
    on = [node(0), node(1, files=moved, python={"command": "python3", "path": "/opt/python"})]
    plan = make_plan(request(2, config="big.yaml", script_args=["--lr", "3e-4"]), policy(), on)
    tails = [job["argv"][-5:] for job in plan["jobs"].values()]
    assert tails == [
        ["/home/ann/code/train.py", "--lr", "3e-4", "--config", "/home/ann/code/big.yaml"],
        ["/srv/train.py", "--lr", "3e-4", "--config", "/srv/big.yaml"],
    ]
    assert [job["argv"][0] for job in plan["jobs"].values()] == ["/usr/bin/python3", "/opt/python"]


@pytest.mark.parametrize(
    ("given", "tail"),
    [
        ({"config": "big.yaml"}, ["--config", "/home/ann/code/big.yaml"]),
        (
            {"config": "big.yaml", "config_option": "--deepspeed_config"},
            ["--deepspeed_config", "/home/ann/code/big.yaml"],
        ),
        ({"config": "big.yaml", "config_option": "--cfg="}, ["--cfg=/home/ann/code/big.yaml"]),
        ({"config": "big.yaml", "config_option": ""}, ["/home/ann/code/big.yaml"]),
        ({"config_name": "llama3_debugmodel"}, ["--config", "llama3_debugmodel"]),
        ({"config_name": "big.yaml", "config_option": "--config-name"}, ["--config-name", "big.yaml"]),
        ({"config_option": "--deepspeed_config"}, []),
    ],
)
def test_the_configuration_is_passed_as_the_program_takes_it(given: dict[str, Any], tail: list[str]) -> None:
    argv = plan_of(script_args=["-x"], **given)["jobs"]["node0"]["argv"]
    assert argv[argv.index("-x") + 1 :] == tail


def test_a_module_needs_no_file() -> None:
    plan = plan_of(script=None, module="pkg.train", facts={"files": None})
    assert plan["jobs"]["node0"]["argv"][-2:] == ["--module", "pkg.train"]


def test_nothing_becomes_shell_text() -> None:
    nasty = "; $(reboot) `id` 'x"
    assert plan_of(script_args=[nasty])["jobs"]["node0"]["argv"][-1] == nasty
