# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections about the container, the environment of the ranks, and the programs that look at RDMA."""

from __future__ import annotations

from collections.abc import Mapping

from ..._cluster.policy import ClusterPolicy
from .. import rows as detect_rows
from ..detected import DetectedNode
from .section import NOT_KNOWN, Section, facts_of

# What is missed where it is not installed, and what it shows.
TOOLS: Mapping[str, str] = {
    "ibstat": "infiniband-diags",
    "ibv_devinfo": "ibverbs-utils, libibverbs-utils",
    "rdma": "iproute2",
    "ib_write_bw": "perftest",
}


def container(node: DetectedNode, policy: ClusterPolicy) -> Section:
    """Describe the container that this was read in, and the containers that ranks would run in."""
    inside, engine = facts_of(node).container, facts_of(node).engine
    rows = [("here", _here(node))]
    if inside and inside.kind:
        shared = {"the host's network": inside.host_network, "the host's IPC": inside.host_ipc}
        rows.append(("shares", ", ".join(name for name, value in shared.items() if value) or "nothing with the host"))
    rows.append(
        (
            "ranks",
            f"in containers of the image {policy.container_image or NOT_KNOWN}"
            if policy.runtime == "docker"
            else "here",
        )
    )
    if engine:
        state = f"version {engine.version}" if engine.running else engine.why or "not running"
        rows.append(("engine", f"{' '.join(engine.command)}: {state}"))
    return Section("container", "Container", (), rows, (), {"container": _here(node).partition(" (")[0]})


def _here(node: DetectedNode) -> str:
    inside = facts_of(node).container
    if inside is None:
        return NOT_KNOWN
    if inside.kind is None:
        return "no container"
    return f"{inside.kind} ({inside.pod or inside.source or 'source not known'})"


def environment(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe what would be set for the ranks, and where it comes from."""
    rows = detect_rows.environment_lines(node.environment)
    notes = [f"For {detect_rows.library_summary(node.library)}."] if node.library else []
    features = {variable.name: variable.value for variable in node.environment}
    absent = "" if rows else "nothing would be set"
    return Section("environment", "Environment of the ranks", (), rows, notes, features, absent, is_stacked=True)


def not_set(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe what is left to NCCL on purpose."""
    rows = detect_rows.not_set_lines(node)
    return Section("not_set", "Not set, on purpose", (), rows, absent="" if rows else "nothing")


def tools(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the programs that look at RDMA."""
    health = facts_of(node).rdma_health
    if health is None:
        return Section("tools", "Programs", absent="could not be read")
    missing = [f"{name} ({package})" for name, package in TOOLS.items() if name not in health.tools]
    notes = [f"Not in the PATH: {', '.join(missing)}."] if missing else []
    features = {f"program {name}": "in the PATH" for name in health.tools}
    absent = "" if health.tools else "none is in the PATH"
    return Section("tools", "Programs", (), [*health.tools.items()], notes, features, absent)
