# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node's job: the part of the plan that its runner gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings, Job, Rendezvous, Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import File

from .._cluster import ports
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy
from .._findings.origin import MUSTER
from .._nccl import variable_layers
from .launchers.base import Program, Start
from .launchers.registry import LAUNCHERS
from .runtimes.base import Part
from .runtimes.registry import RUNTIMES

SCHEMA = 1
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """What is the same on every node of the run."""

    request: Mapping[str, Any]
    policy: ClusterPolicy
    nodes: Sequence[str]
    spares: Sequence[str]
    nproc: int
    rendezvous: Rendezvous

    @property
    def world_size(self) -> int:
        """The number of ranks of all nodes."""
        return len(self.nodes) * self.nproc


def job_of(run: Run, node: Node, node_rank: int, environment: Sequence[Variable]) -> Job:
    """Make one node's job; environment is that of its ranks without the variables that describe the run."""
    settings, policy, facts = run.request["parameters"], run.policy, node.facts
    run_id, nonce, first_rank = run.request["run_id"], run.request["nonce"], node_rank * run.nproc
    run_dir = layout.run_dir(facts.workdir.path, node.name, run_id)
    topology_file = node.gpu.topology_file.path if node.gpu and node.gpu.topology_file else None
    part = Part(run_id, nonce, node.name, node_rank, run_dir, topology_file)
    execution = RUNTIMES[policy.runtime].execution(policy, facts, part)
    launcher = settings["launcher"]["value"]
    command = LAUNCHERS[launcher](
        Start(
            run_id=run_id,
            run_dir=run_dir,
            python=execution.python,
            program=_program(settings, facts.files or {}),
            nnodes=len(run.nodes),
            nproc=run.nproc,
            node_rank=node_rank,
            first_rank=first_rank,
            world_size=run.world_size,
            address=run.rendezvous.address,
            port=run.rendezvous.port,
        )
    )
    run_variables = {
        "MUSTER_RUN_ID": (run_id, ""),
        "MUSTER_NONCE": (nonce, ""),
        "MUSTER_NODE": (node.name, ""),
        "MUSTER_RUN_DIR": (run_dir, ""),
        "MUSTER_OUTPUT_DIR": (f"{run_dir}/outputs", ""),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": (str(max(1, policy.stop_grace - 5)), "launch_stop_grace, less 5 s"),
        **command.environment,
    }
    layer = [variable_layers.variable(name, value, MUSTER, reason) for name, (value, reason) in run_variables.items()]
    return Job(
        schema=SCHEMA,
        run_id=run_id,
        nonce=nonce,
        node=node.name,
        node_rank=node_rank,
        nnodes=len(run.nodes),
        nproc=run.nproc,
        world_size=run.world_size,
        first_rank=first_rank,
        runtime=policy.runtime,
        launcher=launcher,
        workdir=facts.workdir.path,
        run_dir=run_dir,
        output_dir=f"{run_dir}/outputs",
        code_dir=facts.code.path if facts.code else facts.workdir.path,
        checkpoint_dir=policy.checkpoint_dir,
        slot=policy.slot,
        rendezvous=run.rendezvous,
        gang=GangSettings(
            port=ports.gang_port(run.rendezvous.port),
            lost_after=policy.lost_after,
            max_restarts=settings["max_restarts"]["value"],
            nodes=[*run.nodes, *run.spares] if node_rank == 0 else [],
        ),
        argv=command.argv,
        environment=variable_layers.merge([environment, layer]),
        starter=execution.starter.name,
        starter_reason=execution.starter.reason,
        starter_fallback=execution.starter.fallback,
        time_limit=settings["time_limit"]["value"] or 0,
        stop_grace=policy.stop_grace,
        abort_grace=policy.abort_grace,
        background_wait=policy.background_wait,
        join_timeout=policy.join_timeout,
        disk_wait=policy.disk_wait,
        log_limit=policy.log_limit_mib * MIB,
        label=settings["label"]["value"],
        created=run.request["created"],
        container=execution.container,
    )


def _program(settings: variable_layers.Settings, files: Mapping[str, File]) -> Program:
    """Return what the ranks run; relative paths become absolute as each node resolved them."""

    def absolute(path: str) -> str:
        return files[path].path if path in files else path

    arguments = list(settings["script_args"]["value"] or [])
    config, module = settings["config"]["value"], settings["module"]["value"]
    if config is not None:
        arguments += ["--config", absolute(config)]
    if module is not None:
        return Program("module", module, tuple(arguments))
    return Program("script", absolute(settings["script"]["value"]), tuple(arguments))
