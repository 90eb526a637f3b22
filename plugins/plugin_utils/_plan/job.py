# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node's job: its part of the plan, exactly what its runner gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings, Job, Rendezvous, Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import File

from .._cluster import ports
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy
from .._findings.origin import MUSTER
from .._nccl import variable_layers
from .launchers.base import Program, Start
from .launchers.registry import LAUNCHERS
from .ranks import Place
from .runtimes.base import Part
from .runtimes.registry import RUNTIMES

SCHEMA = 1
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """What is the same on every node of the run."""

    run_id: str
    nonce: str
    created: str
    settings: variable_layers.Settings
    policy: ClusterPolicy
    nodes: Sequence[str]
    spares: Sequence[str]
    world_size: int
    rendezvous: Rendezvous


def job_of(run: Run, node: Node, place: Place, environment: Sequence[Variable]) -> Job:
    """Make one node's job; environment is what its ranks get beside what Muster itself tells them."""
    settings, policy, facts = run.settings, run.policy, node.facts
    run_dir = f"{facts.workdir.path}/.muster/runs/{run.run_id}"
    part = Part(run.run_id, run.nonce, node.name, place.node_rank, run_dir)
    way = RUNTIMES[policy.runtime].way(policy, facts, part)
    launcher = settings["launcher"]["value"]
    command = LAUNCHERS[launcher](
        Start(
            run_id=run.run_id,
            run_dir=run_dir,
            python=way.python,
            program=_program(settings, facts.files or {}),
            nnodes=len(run.nodes),
            nproc=place.nproc,
            node_rank=place.node_rank,
            first_rank=place.first_rank,
            world_size=run.world_size,
            address=run.rendezvous.address,
            port=run.rendezvous.port,
        )
    )
    own = {
        "MUSTER_RUN_ID": (run.run_id, ""),
        "MUSTER_NONCE": (run.nonce, ""),
        "MUSTER_NODE": (node.name, ""),
        "MUSTER_RUN_DIR": (run_dir, ""),
        "MUSTER_OUTPUT_DIR": (f"{run_dir}/outputs", ""),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": (str(max(1, policy.stop_grace - 5)), "launch_stop_grace, less 5 s"),
        **command.environment,
    }
    whole = variable_layers.merge(
        [environment, [variable_layers.variable(name, value, MUSTER, reason) for name, (value, reason) in own.items()]]
    )
    return Job(
        schema=SCHEMA,
        run_id=run.run_id,
        nonce=run.nonce,
        node=node.name,
        node_rank=place.node_rank,
        nnodes=len(run.nodes),
        nproc=place.nproc,
        world_size=run.world_size,
        first_rank=place.first_rank,
        runtime=policy.runtime,
        launcher=launcher,
        workdir=facts.workdir.path,
        run_dir=run_dir,
        output_dir=f"{run_dir}/outputs",
        code_dir=facts.code.path if facts.code else facts.workdir.path,
        slot=policy.slot,
        rendezvous=run.rendezvous,
        gang=GangSettings(
            port=ports.of_gang(run.rendezvous.port),
            lost_after=policy.lost_after,
            max_restarts=settings["max_restarts"]["value"],
            nodes=[*run.nodes, *run.spares] if place.node_rank == 0 else [],
        ),
        argv=command.argv,
        environment=whole,
        starter=way.starter.name,
        starter_reason=way.starter.reason,
        starter_fallback=way.starter.fallback,
        time_limit=settings["time_limit"]["value"] or 0,
        stop_grace=policy.stop_grace,
        abort_grace=policy.abort_grace,
        join_timeout=policy.join_timeout,
        log_limit=policy.log_limit_mib * MIB,
        label=settings["label"]["value"],
        created=run.created,
        container=way.container,
    )


def _program(settings: variable_layers.Settings, files: Mapping[str, File]) -> Program:
    """Say what the ranks run, by absolute paths: what a relative one means is the node's answer."""

    def absolute(path: str) -> str:
        return files[path].path if path in files else path

    arguments = list(settings["script_args"]["value"] or [])
    config, module = settings["config"]["value"], settings["module"]["value"]
    if config is not None:
        arguments += ["--config", absolute(config)]
    if module is not None:
        return Program("module", module, tuple(arguments))
    return Program("script", absolute(settings["script"]["value"]), tuple(arguments))
