# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node's job: its part of the plan, exactly what its runner gets. (`_jobs.py` is private to the collection.)"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records import (
    File,
    Job,
    Net,
    NodeFacts,
    Rendezvous,
    Variable,
)
from ansible_collections.muster.train.plugins.plugin_utils import _environment, _head
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._launchers import LAUNCHERS
from ansible_collections.muster.train.plugins.plugin_utils._launchers._start import Program, Start
from ansible_collections.muster.train.plugins.plugin_utils._policy import Policy
from ansible_collections.muster.train.plugins.plugin_utils._ranks import Place

SCHEMA = 1
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class NodeInput:
    """What the plan knows of a node: address is how Ansible reaches it, env its launch_node_env.

    policy is what its own variables say of the cluster's policy, the head's all of it.
    """

    name: str
    address: str
    facts: NodeFacts
    env: Mapping[str, Any]
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Run:
    """What is the same on every node of the run; cluster is what launch_env says, env what the parameter does."""

    run_id: str
    nonce: str
    created: str
    settings: _environment.Settings
    policy: Policy
    cluster: list[Variable]
    env: list[Variable]
    nnodes: int
    world_size: int
    rendezvous: Rendezvous


def job_of(run: Run, node: NodeInput, net: Net, place: Place, ranks_on_machine: int) -> tuple[Job, list[Finding]]:
    """Make one node's job; ranks_on_machine counts those of other nodes on the same machine too."""
    settings, policy, facts = run.settings, run.policy, node.facts
    run_dir = f"{facts.workdir.path}/.muster/runs/{run.run_id}"
    launcher = settings["launcher"]["value"]
    command = LAUNCHERS[launcher](
        Start(
            run_id=run.run_id,
            run_dir=run_dir,
            python=facts.python.path or facts.python.command,
            program=_program(settings, facts.files or {}),
            nnodes=run.nnodes,
            nproc=place.nproc,
            node_rank=place.node_rank,
            first_rank=place.first_rank,
            world_size=run.world_size,
            address=run.rendezvous.address,
            port=run.rendezvous.port,
            join_timeout=policy.join_timeout,
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
    environment, findings = _environment_of(run, node, net, ranks_on_machine)
    environment = _environment.merge(
        [environment, [Variable(name, value, _environment.MUSTER, reason) for name, (value, reason) in own.items()]]
    )
    job = Job(
        schema=SCHEMA,
        run_id=run.run_id,
        nonce=run.nonce,
        node=node.name,
        node_rank=place.node_rank,
        nnodes=run.nnodes,
        nproc=place.nproc,
        world_size=run.world_size,
        first_rank=place.first_rank,
        runtime="host",
        launcher=launcher,
        workdir=facts.workdir.path,
        run_dir=run_dir,
        output_dir=f"{run_dir}/outputs",
        code_dir=facts.code.path if facts.code else facts.workdir.path,
        slot=policy.slot,
        rendezvous=run.rendezvous,
        argv=command.argv,
        environment=environment,
        starter=policy.starter,
        time_limit=settings["time_limit"]["value"] or 0,
        stop_grace=policy.stop_grace,
        abort_grace=policy.abort_grace,
        join_timeout=policy.join_timeout,
        log_limit=policy.log_limit_mib * MIB,
        label=settings["label"]["value"],
        created=run.created,
    )
    return job, findings


def _program(settings: _environment.Settings, files: Mapping[str, File]) -> Program:
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


def _environment_of(run: Run, node: NodeInput, net: Net, ranks_on_machine: int) -> tuple[list[Variable], list[Finding]]:
    """Lay the node's layers on each other: machine, fabric, cluster, node, run."""
    address, vendor = run.rendezvous.address, node.facts.gpu.vendor if node.facts.gpu else None
    interface = _head.interface_towards(address, net)
    findings = [] if interface else [_no_interface(node.name, address)]
    findings += _environment.beyond_the_library(run.settings, vendor, node.name)
    of_cluster, of_run = _environment.split(_environment.from_parameters(run.settings, vendor))
    of_node, refused = _environment.user_layer(node.env, _environment.NODE, node.name)
    env_of_cluster, env_of_run = _environment.split(run.env)
    environment = _environment.merge(
        [
            _environment.of_the_machine(node.facts.cpus, ranks_on_machine),
            _environment.sockets(interface),
            of_cluster,
            run.cluster,
            env_of_cluster,
            of_node,
            of_run,
            env_of_run,
        ]
    )
    findings += refused
    return environment, findings + _environment.contradictions(environment, node.name, run.settings["mode"])


def _no_interface(node: str, address: str) -> Finding:
    return Finding(
        check="interface",
        node=node,
        status="warn",
        observed=f"no route of it says which interface leads to the head's address {address}",
        expected="one interface, for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
        source="facts net",
        remedy="set both in launch_node_env, or launch_head_address to an IPv4 address that the node has a route to",
    )
