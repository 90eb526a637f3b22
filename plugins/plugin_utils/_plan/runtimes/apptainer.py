# SPDX-License-Identifier: GPL-3.0-or-later
"""apptainer: the runner is a process of the node, and starts the launcher in an image.

The interpreter and its packages are the image's. The environment of the ranks comes to the shell that is first in the
image on its standard input, because there, and only there, it wins over what the image sets.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster.binds import binds_of
from ..._cluster.node import Node
from ..._cluster.policy import ClusterPolicy
from ..._nccl.inherited import in_image
from . import host
from .base import ORIGIN, Execution, Part
from .docker import OF_THE_IMAGE

ENTER = '. /dev/stdin && exec "$@" </dev/null'
GPU_OPTIONS = {"nvidia": "--nv", "amd": "--rocm"}


def execution(policy: ClusterPolicy, node: Node, part: Part) -> Execution:
    """Start the runner as on the host, and the launcher in the image."""
    apptainer, vendor = node.facts.apptainer, node.gpu.vendor if node.gpu and node.gpu.count else None
    gpus = [GPU_OPTIONS[vendor]] if vendor in GPU_OPTIONS else []
    binds = [word for bind in binds_of(node, policy, part.topology_file) for word in ("--bind", bind)]
    image = apptainer.image if apptainer else policy.image
    words = [*policy.apptainer, "exec", "--cleanenv", *gpus, *policy.apptainer_options, *binds, image]
    return dataclasses.replace(
        host.execution(policy, node, part),
        python=node.facts.python.command,
        wrapper=(*words, "/bin/sh", "-c", ENTER, "muster"),
        environment={"PYTHONNOUSERSITE": ("1", f"{ORIGIN}: the packages in the home are not the image's")},
    )


def facts_inside_runtime(facts: NodeFacts) -> NodeFacts:
    """Return the facts with the versions in the image, and what its ranks inherit."""
    facts, apptainer = in_image(facts), facts.apptainer
    if facts.versions is None or apptainer is None:
        return facts
    versions: dict[str, Any] = {name: getattr(apptainer, name, None) for name in OF_THE_IMAGE}
    return dataclasses.replace(facts, versions=dataclasses.replace(facts.versions, **versions))
