# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engine, its image and its compose file."""

from __future__ import annotations

import dataclasses
import shlex

from .._cluster.node import Node
from .._findings.remedy import sentence
from .model import Cluster, Outcome, Outcomes, failed, passed, skipped, unavailable
from .properties import IMAGE

ON_HOST = "the ranks run without a container engine"


def engine(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose engine does not run, does not answer this user, or has no compose."""
    if not cluster.in_engine:
        return skipped(ON_HOST)
    docker = node.facts.engine
    command = shlex.join(cluster.policy.docker)
    if docker is None:
        return unavailable("the state of the engine could not be read", "engine")
    source, expected = f"{command} info", "a container engine that this user can reach, with the Compose plugin"
    if docker.version is None and docker.running is False:
        remedy = "install Docker Engine and its compose plugin there"
        return failed(docker.why or f"{command} was not found", expected, source, remedy)
    if not docker.running:
        remedy = "systemctl start docker there; if it needs root: launch_docker: [sudo, -n, docker]"
        if docker.denied:
            remedy = f"allow {command} without a password there, or set launch_docker to a command this user may run"
        return failed(docker.why or "the engine does not answer", expected, source, remedy)
    if docker.compose is None:
        remedy = "install docker-compose-plugin there"
        return failed(f"engine {docker.version} without the compose plugin", expected, source, remedy)
    return passed(f"engine {docker.version}, compose {docker.compose}", source)


def image(cluster: Cluster) -> Outcomes:
    """Find nodes without the image, or with a different one from most."""
    ref = cluster.policy.container_image
    if not ref or not cluster.in_engine:
        outcome = skipped(ON_HOST if not cluster.in_engine else "no image is named")
        return [(name, outcome) for name in cluster.nodes]
    return [(name, _image(cluster.nodes[str(name)], ref, outcome, cluster)) for name, outcome in IMAGE.compare(cluster)]


def _image(node: Node, ref: str, compared: Outcome, cluster: Cluster) -> Outcome:
    docker = node.facts.engine
    if docker is None or not docker.running:
        return skipped("the engine does not answer, which the check engine reports")
    if ref not in docker.images:
        return unavailable(f"the image {ref} could not be looked up", "engine", docker.why)
    if docker.images[ref] is None:
        remedy = sentence("load or pull it: ", cluster.launch.invocation.command("setup", "--tags", "container"))
        return failed(f"{ref} was not found", "the image on every node", "container_image", remedy)
    # The digest alone does not identify the image to a reader.
    source = f"container_image {ref}; {compared.source}"
    return dataclasses.replace(compared, source=source) if compared.status == "fail" else compared


def compose_file(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes without the compose file."""
    if not cluster.in_engine:
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
    """Warn of containers that have access to the whole machine."""
    if not cluster.in_engine:
        return skipped(ON_HOST)
    if not cluster.policy.privileged:
        return passed("containers get only the devices that they need", "container_privileged")
    return failed(
        "containers are privileged: root in one is root on the node",
        "containers that are not privileged",
        "container_privileged",
        "remove container_privileged: containers get devices, IPC_LOCK and memlock without it; if it is needed: "
        "preflight_levels: {privileged: off}",
    )
