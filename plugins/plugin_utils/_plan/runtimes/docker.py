# SPDX-License-Identifier: GPL-3.0-or-later
"""docker: the runner is the main process of a container.

The container is created for this run from a service of a compose file. The work directory and the code are mounted at
their own paths; the interpreter and its packages are the image's.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import JobContainer, container_name
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster.node import Node
from ..._cluster.policy import ClusterPolicy
from ..._cluster.starter import DOCKER, StarterChoice
from ..._nccl.inherited import in_containers
from .base import ORIGIN, Execution, Part

# The node's Python and its packages are not the image's.
OF_THE_IMAGE = (
    *("python", "torch", "torch_cuda", "torch_hip", "accelerate", "deepspeed", "nccl", "rccl", "rocm", "site_packages"),
)


def execution(policy: ClusterPolicy, node: Node, part: Part) -> Execution:
    """Run it in a container that is named after the run and the node."""
    facts = node.facts
    compose = (facts.files or {}).get(policy.compose_file)
    container = JobContainer(
        docker=list(policy.docker),
        file=compose.path if compose else policy.compose_file,
        service=policy.compose_service,
        name=container_name(part.run_id, part.node_rank),
        python=facts.python.command,
        labels={
            "muster.run_id": part.run_id,
            "muster.node": part.node,
            "muster.nonce": part.nonce,
            "muster.run_dir": part.run_dir,
            "muster.workdir": facts.workdir.path,
        },
        mounts=[part.topology_file] if part.topology_file else [],
    )
    return Execution(python=facts.python.command, starter=StarterChoice(DOCKER, ORIGIN), container=container)


def facts_inside_runtime(facts: NodeFacts) -> NodeFacts:
    """Remove what is known about the node's Python, and what only processes of the node inherit."""
    facts = in_containers(facts)
    if facts.versions is None:
        return facts
    unknown_versions: dict[str, Any] = dict.fromkeys(OF_THE_IMAGE)
    return dataclasses.replace(facts, versions=dataclasses.replace(facts.versions, **unknown_versions))
