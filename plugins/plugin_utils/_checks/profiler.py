# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the profiler that a launch asks for where the ranks run?"""

from __future__ import annotations

from .._cluster.node import Node
from .._cluster.profilers import PROFILERS
from .model import Cluster, Outcome, failed, passed, skipped, unavailable


def profiler(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes, or their containers, without the profiler, and GPUs that it does not profile."""
    asked = cluster.launch.profiler
    if asked is None:
        return skipped("no profiler is asked for")
    wanted, source = PROFILERS[asked], f"{asked}=true"
    for other, profiler in PROFILERS.items():
        if node.gpu and node.gpu.vendor == profiler.vendor != wanted.vendor:
            expected = f"{wanted.maker} GPUs, which {wanted.program} profiles"
            remedy = f"use -e {other}=true on this cluster instead"
            return failed(f"the GPUs are {profiler.maker}'s", expected, source, remedy)
    tool = node.facts.profiler
    if tool is None and not cluster.on_host:
        return skipped("a launch looks for it in its containers")
    if tool is None or (tool.path is None and tool.why):
        return unavailable(f"{wanted.program} could not be looked for", "profiler", tool.why if tool else None)
    if tool.path is None:
        where = "" if cluster.on_host else f" in the containers of the service {cluster.policy.compose_service}"
        place = "there" if cluster.on_host else "in their image"
        remedy = f"install {wanted.package} {place} so that {wanted.program} is on PATH, or launch without {asked}"
        return failed(f"{wanted.program} was not found{where}", f"{wanted.program} for the ranks", source, remedy)
    return passed(" ".join(filter(None, (tool.path, tool.version))), source)
