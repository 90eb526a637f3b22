# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the launchers: the exact command lines, and that torchrun itself understands them."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Literal

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.base import Program, Start
from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.registry import LAUNCHERS
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS

RUN_DIR = "/w/.muster/nodes/node0/runs/r1"
START = Start(
    run_id="r1",
    run_dir=RUN_DIR,
    python="/usr/bin/python3",
    program=Program("script", "/code/train me.py", ("--lr", "3e-4; rm -rf /")),
    nnodes=2,
    nproc=4,
    node_rank=1,
    first_rank=4,
    world_size=8,
    address="10.0.0.1",
    port=29400,
)
MODULE = dataclasses.replace(START, program=Program("module", "pkg.train", ("--config", "/c.yaml")))

TORCHRUN = [
    "/usr/bin/python3",
    "/w/.muster/nodes/node0/runs/r1/torchrun.py",
    "--nnodes=2",
    "--nproc-per-node=4",
    "--rdzv-backend=static",
    "--rdzv-id=r1",
    "--rdzv-conf=timeout=300",
    "--log-dir=/w/.muster/nodes/node0/runs/r1/errors",
    "--max-restarts=0",
]


def test_the_launchers_are_those_that_a_request_takes() -> None:
    [launcher] = [parameter for parameter in VERBS["launch"] if parameter.name == "launcher"]
    assert tuple(LAUNCHERS) == launcher.choices


def test_torchrun() -> None:
    command = LAUNCHERS["torchrun"](dataclasses.replace(START, options=("--role=trainer",)))
    assert command.argv == [
        *TORCHRUN,
        "--role=trainer",
        "/code/train me.py",
        "--lr",
        "3e-4; rm -rf /",
    ]
    assert {name: value for name, (value, _reason) in command.environment.items()} == {
        "PET_NODE_RANK": "1",
        "NODE_RANK": "1",
        "NNODES": "2",
        "PET_RDZV_ENDPOINT": "10.0.0.1:29400",
    }


def test_torchrun_with_a_module() -> None:
    assert LAUNCHERS["torchrun"](MODULE).argv[-5:] == [
        "--max-restarts=0",
        "--module",
        "pkg.train",
        "--config",
        "/c.yaml",
    ]


def test_accelerate() -> None:
    command = LAUNCHERS["accelerate"](dataclasses.replace(START, options=("--use_fsdp", "--config_file=/c/fsdp.yaml")))
    assert command.argv == [
        *TORCHRUN,
        "--module",
        "accelerate.commands.launch",
        "--num_machines=2",
        "--num_processes=8",
        "--gpu_ids=all",
        "--deepspeed_multinode_launcher=standard",
        "--use_fsdp",
        "--config_file=/c/fsdp.yaml",
        "/code/train me.py",
        "--lr",
        "3e-4; rm -rf /",
    ]
    assert command.environment == LAUNCHERS["torchrun"](START).environment
    assert command.defaults == {}


def test_accelerate_with_a_module_under_a_profiler() -> None:
    argv = LAUNCHERS["accelerate"](dataclasses.replace(MODULE, wrapper=("nsys", "profile"))).argv
    assert argv[: len(TORCHRUN) + 1] == [*TORCHRUN, "--module"]
    profiled = ["--no_python", "nsys", "profile", "/usr/bin/python3", "-u", "-m", "pkg.train", "--config", "/c.yaml"]
    assert argv[-11:] == ["--gpu_ids=all", "--deepspeed_multinode_launcher=standard", *profiled]


def test_accelerate_takes_the_cpu_where_there_is_no_gpu() -> None:
    defaults = LAUNCHERS["accelerate"](dataclasses.replace(START, has_gpu=False)).defaults
    assert {name: value for name, (value, _reason) in defaults.items()} == {"ACCELERATE_USE_CPU": "true"}


def test_deepspeed() -> None:
    command = LAUNCHERS["deepspeed"](dataclasses.replace(START, options=("--role=trainer",)))
    assert command.argv == [
        *TORCHRUN,
        "--role=trainer",
        "/code/train me.py",
        "--local_rank=${local_rank}",
        "--lr",
        "3e-4; rm -rf /",
    ]
    assert {name: value for name, (value, _reason) in command.environment.items()} == {
        "PET_NODE_RANK": "1",
        "NODE_RANK": "1",
        "NNODES": "2",
        "PET_RDZV_ENDPOINT": "10.0.0.1:29400",
        "CROSS_RANK": "1",
        "CROSS_SIZE": "2",
        "LOCAL_SIZE": "4",
    }


def test_deepspeed_with_a_module_under_a_profiler() -> None:
    argv = LAUNCHERS["deepspeed"](dataclasses.replace(MODULE, wrapper=("nsys", "profile"))).argv
    assert argv[len(TORCHRUN) :] == [
        *("--no_python", "nsys", "profile", "/usr/bin/python3", "-u", "-m", "pkg.train"),
        *("--local_rank=${local_rank}", "--config", "/c.yaml"),
    ]


def test_torchrun_with_an_address_that_has_colons() -> None:
    start = dataclasses.replace(START, address="fd00::1")
    assert LAUNCHERS["torchrun"](start).environment["PET_RDZV_ENDPOINT"][0] == "[fd00::1]:29400"


@pytest.mark.slow
def test_torchrun_understands_its_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (value, _reason) in LAUNCHERS["torchrun"](START).environment.items():
        monkeypatch.setenv(name, value)
    run = importlib.import_module("torch.distributed.run")  # requirements-local.txt: it must be there
    macros = importlib.import_module("torch.distributed.elastic.utils.api").macros
    assert macros.substitute(LAUNCHERS["deepspeed"](START).argv, "3")[len(TORCHRUN) + 1] == "--local_rank=3"
    for start, is_module in ((START, False), (MODULE, True)):
        args = run.parse_args(LAUNCHERS["torchrun"](start).argv[2:])
        assert (args.nnodes, args.nproc_per_node, args.node_rank, args.max_restarts) == ("2", "4", 1, 0)
        assert (args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id) == ("static", "10.0.0.1:29400", "r1")
        assert (args.module, args.training_script) == (is_module, start.program.name)
        assert args.training_script_args == list(start.program.arguments)
        config, _command, _arguments = run.config_from_args(args)
        assert config.rdzv_configs == {"timeout": "300", "rank": 1}


def test_python() -> None:
    command = LAUNCHERS["python"](dataclasses.replace(START, nproc=1, first_rank=1, world_size=2))
    assert command.argv == ["/usr/bin/python3", "/code/train me.py", "--lr", "3e-4; rm -rf /"]
    assert {name: value for name, (value, _reason) in command.environment.items()} == {
        "RANK": "1",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": "1",
        "GROUP_WORLD_SIZE": "2",
        "NODE_RANK": "1",
        "NNODES": "2",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29400",
    }


def test_python_with_a_module() -> None:
    assert LAUNCHERS["python"](MODULE).argv == ["/usr/bin/python3", "-m", "pkg.train", "--config", "/c.yaml"]


def test_exec_sets_no_variable_of_a_rank() -> None:
    """With LOCAL_RANK or RANK, Lightning, Accelerate and DeepSpeed take the process for a rank."""
    command = LAUNCHERS["exec"](START)
    assert {name: value for name, (value, _reason) in command.environment.items()} == {
        "NODE_RANK": "1",
        "NNODES": "2",
        "GROUP_RANK": "1",
        "GROUP_WORLD_SIZE": "2",
        "NPROC_PER_NODE": "4",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29400",
        "MUSTER_PYTHON": "/usr/bin/python3",
    }


@pytest.mark.parametrize(
    ("kind", "name", "argv"),
    [
        ("script", "/code/train.py", ["/usr/bin/python3", "/code/train.py", "-x"]),
        ("module", "accelerate.commands.launch", ["/usr/bin/python3", "-m", "accelerate.commands.launch", "-x"]),
        ("script", "/code/run.sh", ["/code/run.sh", "-x"]),
        ("script", "accelerate", ["accelerate", "-x"]),
    ],
)
def test_exec_runs_scripts_and_modules_with_python_and_executes_the_rest(
    kind: Literal["script", "module"], name: str, argv: list[str]
) -> None:
    assert LAUNCHERS["exec"](dataclasses.replace(START, program=Program(kind, name, ("-x",)))).argv == argv
