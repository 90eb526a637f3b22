# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engine, its image and its compose file."""

from __future__ import annotations

import dataclasses
import shlex

from .._cluster.node import Node
from .._findings.remedy import playbook
from .model import Cluster, Outcome, Outcomes, failed, passed, skipped, unavailable
from .properties import IMAGE

ON_HOST = "the ranks run on the host, without containers"


def engine(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose engine does not run, does not answer this user, or has no compose."""
    if cluster.on_host:
        return skipped(ON_HOST)
    own = node.facts.engine
    command = shlex.join(cluster.policy.docker)
    if own is None:
        return unavailable("the engine could not be asked", "engine")
    source, expected = f"{command} info", "an engine that answers this user, with the compose plugin"
    if own.version is None and own.running is False:
        remedy = "install Docker Engine and its compose plugin there"
        return failed(own.why or f"{command} was not found", expected, source, remedy)
    if not own.running:
        remedy = "systemctl start docker there; if it needs root: launch_docker: [sudo, -n, docker]"
        if own.denied:
            remedy = f"allow {command} without a password there, or set launch_docker to what this user may call"
        return failed(own.why or "the engine does not answer", expected, source, remedy)
    if own.compose is None:
        remedy = "install docker-compose-plugin there"
        return failed(f"engine {own.version} without the compose plugin", expected, source, remedy)
    return passed(f"engine {own.version}, compose {own.compose}", source)


def image(cluster: Cluster) -> Outcomes:
    """Find nodes without the image, or with another than most."""
    ref = cluster.policy.image
    if not ref or cluster.on_host:
        outcome = skipped(ON_HOST if cluster.on_host else "no image is named")
        return [(name, outcome) for name in cluster.nodes]
    return [(name, _image(cluster.nodes[str(name)], ref, outcome)) for name, outcome in IMAGE.compare(cluster)]


def _image(node: Node, ref: str, compared: Outcome) -> Outcome:
    own = node.facts.engine
    if own is None or not own.running:
        return skipped("the engine does not answer, which the check engine reports")
    if ref not in own.images:
        return unavailable(f"the image {ref} could not be looked up", "engine", own.why)
    if own.images[ref] is None:
        remedy = f"load or pull it: {playbook('setup', '--tags', 'container')}"
        return failed(f"{ref} was not found", "the image on every node", "container_image", remedy)
    # Its digest alone does not say which image is meant.
    source = f"container_image {ref}; {compared.source}"
    return dataclasses.replace(compared, source=source) if compared.status == "fail" else compared


def compose_file(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes without the compose file."""
    if cluster.on_host:
        return skipped(ON_HOST)
    file = (node.facts.files or {}).get(cluster.policy.compose_file)
    if file is None:
        return skipped("setup writes it, and a launch checks for it")
    if file.readable:
        return passed(file.path, "launch_compose_file")
    return failed(
        f"{file.path} {'cannot be read' if file.exists else 'does not exist'}",
        f"the compose file with the service {cluster.policy.compose_service}",
        f"launch_compose_file, for launch_runtime is {cluster.policy.runtime}",
        "write it with the role muster.train.container, or set launch_compose_file to where it is",
    )


def privileged(node: Node, cluster: Cluster) -> Outcome:
    """Warn of containers that are given the whole machine."""
    if cluster.on_host:
        return skipped(ON_HOST)
    if not cluster.policy.privileged:
        return passed("containers get the devices they need and no more", "container_privileged")
    return failed(
        "containers are privileged: whoever is root in one is root on the node",
        "containers that are not",
        "container_privileged",
        "leave container_privileged out: devices, IPC_LOCK and memlock are given without it; if it is needed: "
        "preflight_levels: {privileged: off}",
    )
