# SPDX-License-Identifier: GPL-3.0-or-later
"""One node's job: the part of the plan that its runner gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import (
    GangSettings,
    Job,
    Rendezvous,
    SlurmPlace,
    TransportProof,
    Variable,
    open_node_rank,
)
from ansible_collections.muster.train.plugins.module_utils._records.node import File
from ansible_collections.muster.train.plugins.module_utils._records.notice import is_sent

from .._cluster import ports
from .._cluster.node import Node
from .._cluster.policy import ClusterPolicy
from .._cluster.script import is_brought, is_program_name
from .._cluster.starter import SLURM
from .._findings.origin import DEFAULT, FOR_ONE_RUN, MUSTER, Layer
from .._nccl import variable_layers
from .._request.settings import setting_values
from .._text.placeholders import expand
from . import outputs, profiling, recorder, trackers, transport
from .launchers.base import Program, Start
from .launchers.registry import LAUNCHERS
from .runtimes.base import Part
from .runtimes.registry import RUNTIMES

SCHEMA = 1
# Who may write a placeholder: what a machine or a container sets is taken as it is.
OF_USERS = (Layer.CLUSTER, Layer.NODE, *FOR_ONE_RUN)
MIB = 1 << 20


@frozen
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


def job_of(
    run: Run, node: Node, node_rank: int, environment: Sequence[Variable], proof: TransportProof | None = None
) -> Job:
    """Make one node's job; environment is that of its ranks without the variables that describe the run.

    proof: what NCCL's log has to prove of the node, None for nothing.
    """
    settings, policy, facts = run.request["parameters"], run.policy, node.facts
    run_id, nonce, first_rank = run.request["run_id"], run.request["nonce"], node_rank * run.nproc
    run_dir = layout.run_dir(facts.workdir.path, node.name, run_id)
    output_dir = outputs.output_dir(policy.shared_output_dir, facts, run_dir, run_id)
    placeholders = {
        "run_dir": run_dir,
        "output_dir": output_dir,
        "run_id": run_id,
        "node_rank": str(node_rank) if node_rank < len(run.nodes) else open_node_rank(nonce),
        "nnodes": str(len(run.nodes)),
        "master_addr": run.rendezvous.address,
    }
    topology_file = node.gpu.topology_file.path if node.gpu and node.gpu.topology_file else None
    part = Part(run_id, nonce, node.name, node_rank, run_dir, topology_file)
    execution = RUNTIMES[policy.runtime].execution(policy, node, part)
    values = setting_values(settings)
    launcher = values["launcher"]
    command = LAUNCHERS[launcher](
        Start(
            run_id=run_id,
            run_dir=run_dir,
            python=execution.python,
            program=_program(settings, facts.files or {}, placeholders),
            nnodes=len(run.nodes),
            nproc=run.nproc,
            node_rank=node_rank,
            first_rank=first_rank,
            world_size=run.world_size,
            address=run.rendezvous.address,
            port=run.rendezvous.port,
            wrapper=profiling.wrapper(values, facts, execution.python, run_dir, output_dir),
            options=tuple(expand(option, placeholders) for option in values["launcher_args"]),
            has_gpu=node.gpu is None or node.gpu.count > 0,
        )
    )
    watched_s = settings["hang_watch"]["value"]
    run_variables = {
        "MUSTER_RUN_ID": (run_id, ""),
        "MUSTER_NONCE": (nonce, ""),
        "MUSTER_NODE": (node.name, ""),
        "MUSTER_RUN_DIR": (run_dir, ""),
        "MUSTER_OUTPUT_DIR": (output_dir, ""),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": (str(max(1, policy.stop_grace - 5)), "launch_stop_grace, less 5 s"),
        **({"MUSTER_HANG_WATCH": (str(watched_s), "hang_watch")} if watched_s else {}),
        **command.environment,
    }
    layer = [variable_layers.variable(name, value, MUSTER, reason) for name, (value, reason) in run_variables.items()]
    users = [
        replace(item, value=expand(item.value, placeholders)) if item.layer in OF_USERS else item
        for item in environment
    ]
    versions, names = facts.versions, {item.name for item in environment}
    defaults = recorder.variables(run_dir, versions.torch if versions else None, names) if watched_s else []
    defaults += transport.variables(run_dir, environment) if proof and not proof.missing else []
    defaults += [
        variable_layers.variable(name, value, DEFAULT, reason)
        for name, (value, reason) in {**execution.environment, **command.defaults}.items()
    ]
    on_end = settings["on_end"]["value"]
    code_dir = facts.code.path if facts.code else facts.workdir.path
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
        output_dir=output_dir,
        code_dir=code_dir,
        cwd=output_dir if policy.cwd == "run" else code_dir,
        checkpoint_dir=policy.checkpoint_dir,
        slot=policy.slot,
        rendezvous=run.rendezvous,
        gang=GangSettings(
            port=ports.gang_port(run.rendezvous.port),
            lost_after=policy.lost_after,
            max_restarts=settings["max_restarts"]["value"],
            nodes=[*run.nodes, *run.spares] if node_rank == 0 else [],
        ),
        argv=[*execution.wrapper, *command.argv],
        environment=variable_layers.merge([trackers.variables(run_id, output_dir), defaults, users, layer]),
        starter=execution.starter.name,
        starter_reason=execution.starter.reason,
        starter_fallback=execution.starter.fallback,
        time_limit=settings["time_limit"]["value"] or 0,
        stop_grace=policy.stop_grace,
        abort_grace=policy.abort_grace,
        traceback_grace=policy.traceback_grace,
        background_wait=policy.background_wait,
        join_timeout=policy.join_timeout,
        disk_wait=policy.disk_wait,
        log_limit=policy.log_limit_mib * MIB,
        label=settings["label"]["value"],
        created=run.request["created"],
        container=execution.container,
        metrics_pattern=settings["metrics_pattern"]["value"],
        hang_watch=watched_s,
        hang_action=settings["hang_action"]["value"],
        transport=proof,
        slurm=_slurm_place(execution.starter.name, policy, node),
        telemetry=settings["telemetry"]["value"],
        notice=on_end if on_end and node_rank == 0 and is_sent(on_end) else None,
    )


def _slurm_place(starter: str, policy: ClusterPolicy, node: Node) -> SlurmPlace | None:
    slurm = node.facts.slurm
    if starter != SLURM or slurm is None:
        return None
    return SlurmPlace(slurm.job, slurm.node or node.address, policy.slurm_kill_wait)


def _program(settings: variable_layers.Settings, files: Mapping[str, File], placeholders: Mapping[str, str]) -> Program:
    """Return what the ranks run; relative paths become absolute as each node resolved them."""

    def absolute(path: str) -> str:
        return files[path].path if path in files else path

    arguments = [expand(argument, placeholders) for argument in settings["script_args"]["value"] or []]
    config, module = settings["config"]["value"], settings["module"]["value"]
    config = settings["config_name"]["value"] if config is None else absolute(config)
    if config is not None:
        option = expand(settings["config_option"]["value"], placeholders)
        arguments += [f"{option}{config}"] if option.endswith("=") or not option else [option, config]
    if module is not None:
        return Program("module", module, tuple(arguments))
    launcher, script = settings["launcher"]["value"], settings["script"]["value"]
    if is_brought(script):
        return Program("script", expand(script, placeholders), tuple(arguments))
    name = script if is_program_name(launcher, script) else absolute(script)
    return Program("script", name, tuple(arguments))
