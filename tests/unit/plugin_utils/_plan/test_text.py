# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the readable plan."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._nccl.sockets import EXACTLY
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.text import header, render
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID, node, nodes, policy, request
from ansible_collections.muster.train.tests.support.rdma_parts import hca, port

NVIDIA = {"vendor": "nvidia", "count": 2}
RUN_DIR = f"/home/ann/muster/.muster/nodes/node0/runs/{RUN_ID}"

TAGS = f'{{"mlflow.runName": "{RUN_ID}", "muster.run_id": "{RUN_ID}"}}'
EXPECTED = f"""\
run {RUN_ID}
  command     ansible-playbook launch.yml -e channels=42
  ranks       2 on 1 node, 2 each  # -e nproc
  head        node0 at 10.0.0.1  # address of eth0, the interface of node0's default route
  port        29656  # free on node0, of launch_port_range 29400-29999
  fabric      tcp  # no node has RDMA devices
  experiment  /home/ann/experiments/{RUN_ID}
  code        aaaaaaaaaaaa, with changes  # main

parameters
  channels     42  # -e channels
  nproc        2  # -e nproc
  config       big.yaml  # -e config
  script       train.py  # cluster (launch_defaults)
  script_args  --note 'two words'  # -e script_args
  env          'A=two words'  # -e env

node 0: node0 (head), ranks 0-1
  work directory  /home/ann/muster  # slot default
  run directory   {RUN_DIR}
  outputs         {RUN_DIR}/outputs
  code directory  /home/ann/code
  starter         setsid  # auto: ann does not have lingering enabled (loginctl enable-linger)
  to stop         60 s
  command
    /usr/bin/python3 \\
      {RUN_DIR}/torchrun.py \\
      --nnodes=1 \\
      --nproc-per-node=2 \\
      --rdzv-backend=static \\
      --rdzv-id={RUN_ID} \\
      --rdzv-conf=timeout=300 \\
      --log-dir={RUN_DIR}/errors \\
      --max-restarts=0 \\
      /home/ann/code/train.py \\
      --note 'two words' \\
      --config /home/ann/code/big.yaml
  environment
    A='two words'                             # -e env: instead of 1 from cluster (launch_env)
    GLOO_SOCKET_IFNAME=eth0                   # fabric D4: has the head's address 10.0.0.1
    MLFLOW_RUN_CONTEXT='{TAGS}'  # default: tags of MLflow's runs: name and run ID
    MUSTER_NODE=node0                         # muster
    MUSTER_NONCE=000000000000000000000000000000ff  # muster
    MUSTER_OUTPUT_DIR={RUN_DIR}/outputs  # muster
    MUSTER_RUN_DIR={RUN_DIR}  # muster
    MUSTER_RUN_ID={RUN_ID}  # muster
    NCCL_IB_DISABLE=1                         # fabric D1: tcp on all nodes: no node has RDMA devices
    NCCL_MAX_NCHANNELS=42                     # -e channels D6: the minimum and the maximum set the number
    NCCL_MIN_NCHANNELS=42                     # -e channels D6: the minimum and the maximum set the number
    NCCL_SOCKET_IFNAME==eth0                  # fabric D4: has the head's address 10.0.0.1; {EXACTLY}
    NNODES=1                                  # muster: torchrun does not set it
    NODE_RANK=0                               # muster: torchrun sets GROUP_RANK only
    OMP_NUM_THREADS=4                         # muster: 8 cores for 2 ranks on the machine, at most 16
    PET_NODE_RANK=0                           # muster: a spare takes that of a lost node
    PET_RDZV_ENDPOINT=10.0.0.1:29656          # muster: where the ranks connect; a restart takes the next port
    PYTHONUNBUFFERED=1                        # muster: a log line is available as soon as a rank prints it
    TORCH_ELASTIC_SHUTDOWN_TIMEOUT=55         # muster: launch_stop_grace, less 5 s
    WANDB_DIR={RUN_DIR}/outputs  # default: W&B writes its files where they are collected
    WANDB_NAME={RUN_ID}  # default: name of W&B's runs
    WANDB_RUN_GROUP={RUN_ID}  # default: W&B groups the ranks' runs
"""


def test_a_plan_reads_well() -> None:
    asked = request(
        1, channels=42, nproc=2, config="big.yaml", script_args=["--note", "two words"], env={"A": "two words"}
    )
    plan = make_plan(asked, policy(env={"A": 1}), [node(0, code__dirty=True)])
    assert render(plan) == EXPECTED


def test_every_node_is_shown_in_full() -> None:
    plan = make_plan(request(3, time_limit=90), policy(), nodes(3))
    text = render({**plan, "parameters": {"all": {"value": True, "origin": "-e all", "layer": 0}}})
    sections = text.split("\n\n")[-3:]
    assert [section.splitlines()[0] for section in sections] == [
        "node 0: node0 (head), rank 0",
        "node 1: node1, rank 1",
        "node 2: node2, rank 2",
    ]
    for number, section in enumerate(sections):
        assert f"PET_NODE_RANK={number} " in section
        assert f"MUSTER_NODE=node{number} " in section
        assert "to stop         60 s\n  time limit      90 s\n" in section


def test_nodes_that_do_the_same_share_a_section() -> None:
    text = render(make_plan(request(12), policy(), nodes(12)))
    head, section = [part for part in text.split("\n\n") if part.startswith("node")]
    assert head.splitlines()[0] == "node 0: node0 (head), rank 0"
    assert section.splitlines()[0] == "nodes 1-11: node[1-11], ranks 1-11"
    assert "PET_NODE_RANK={node_rank}  # " in section
    assert "MUSTER_NODE={node}  # " in section
    assert "NNODES=12  " in section


def test_a_node_that_does_something_else_has_a_section_of_its_own() -> None:
    plan = make_plan(request(12), policy(), nodes(12))
    plan["jobs"]["node7"]["stop_grace"] = 7
    titles = [part.splitlines()[0] for part in render(plan).split("\n\n") if part.startswith("node")]
    assert titles[1:] == ["nodes 1-6, 8-11: node[1-6,8-11], ranks 1-6, 8-11", "node 7: node7, rank 7"]


def test_where_ranks_start_is_shown_if_it_is_not_the_code() -> None:
    plan = make_plan(request(1), policy(cwd="run"), nodes(1))
    job = plan["jobs"]["node0"]
    assert (job["code_dir"], job["cwd"]) == ("/home/ann/code", job["output_dir"])
    assert f"\n  ranks start in  {job['output_dir']}  # launch_cwd\n" in render(plan)


def test_code_without_git_is_shown_by_its_files() -> None:
    code: dict[str, Any] = {"code__commit": None, "code__branch": None, "code__dirty": None, "code__tree": "c" * 64}
    assert "\n  code        files cccccccccccc\n" in render(make_plan(request(1), policy(), [node(0, **code)]))


def test_warnings_precede_the_nodes_and_equal_ones_are_one_line() -> None:
    sections = render(make_plan(request(2), policy(head_address="head.example"), nodes(2))).split("\n\n")
    assert sections[-3].splitlines()[0] == "warnings"
    assert sections[-3].splitlines()[1].startswith("  node0 and node1: interface: ")
    assert len(sections[-3].splitlines()) == 2


def test_unset_variables_are_shown_once_with_reason_and_nodes() -> None:
    on = [node(number, gpu=NVIDIA, hcas=[hca("mlx5_0"), hca("mlx5_1")]) for number in range(2)]
    on.append(node(2, gpu=NVIDIA, hcas=[hca("mlx5_0"), hca("mlx5_1"), hca("mlx5_9", port(rate=100.0))]))
    [section] = [text for text in render(make_plan(request(3), policy(), on)).split("\n\n") if text[:7] == "not set"]
    rows = {line.split("  # ")[0].strip(): line.split("  # ")[1] for line in section.splitlines()[1:]}
    assert rows["NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS"].startswith("D6: ")
    assert rows["NCCL_IB_DISABLE"].startswith("D1: ")
    [key] = [name for name in rows if name.startswith("NCCL_IB_HCA")]
    assert key.split() == ["NCCL_IB_HCA", "on", "node0", "and", "node1"]
    assert "NCCL_IB_HCA==mlx5_0,mlx5_1" in render(make_plan(request(3), policy(), on))


def test_without_warnings_there_is_no_such_heading() -> None:
    assert "warnings" not in render(make_plan(request(2), policy(), nodes(2)))


def test_what_came_from_a_host_cannot_steer_the_terminal() -> None:
    text = render(make_plan(request(1), policy(), [node(0, workdir__path="/w\x1b[2J\nnode 9: x")]))
    assert "\x1b" not in text
    assert "\nnode 9" not in text


def test_the_head_of_a_plan_says_that_nothing_was_started() -> None:
    plan = make_plan(request(2, channels=42), policy(), nodes(2))
    lines = header(plan)
    assert [line.split("  #")[0] for line in lines] == [
        f"run {RUN_ID}",
        "  command     ansible-playbook launch.yml -e channels=42",
        "  ranks       2 on 2 nodes, 1 each",
        "  head        node0 at 10.0.0.1",
        "  port        29656",
        "  runners     29655",
        "  fabric      tcp",
        f"  experiment  /home/ann/experiments/{RUN_ID}",
        "  code        aaaaaaaaaaaa",
        "  nodes       node0, node1",
        "nothing was started; --diff shows everything: directories, commands and environment of every node",
    ]
