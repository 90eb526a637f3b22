# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engine, and what it has."""

from __future__ import annotations

import dataclasses
import shlex

from .._cluster.node import Node
from .comparison import compare
from .model import Cluster, Looks, Seen, fine, skip, unknown
from .properties import IMAGE

ON_HOST = "the ranks run on the host, without containers"


def engine(node: Node, cluster: Cluster) -> Seen:
    """Find nodes whose engine does not run, does not answer this user, or has no compose."""
    if cluster.policy.runtime == "host":
        return skip(ON_HOST)
    own = node.facts.engine
    command = shlex.join(cluster.policy.docker)
    if own is None:
        return unknown("nobody could ask the engine", "engine")
    source, expected = f"{command} info", "an engine that answers this user, with the compose plugin"
    if own.version is None and own.running is False:
        return Seen(
            "fail",
            own.why or f"{command} is not there",
            expected,
            source,
            "install Docker Engine and its compose plugin there",
        )
    if not own.running:
        remedy = "systemctl start docker there; where it asks for root: launch_docker: [sudo, -n, docker]"
        if own.denied:
            remedy = f"allow {command} without a password there, or set launch_docker to what this user may call"
        return Seen("fail", own.why or "the engine does not answer", expected, source, remedy)
    if own.compose is None:
        return Seen(
            "fail",
            f"engine {own.version} without the compose plugin",
            expected,
            source,
            "install docker-compose-plugin there",
        )
    return fine(f"engine {own.version}, compose {own.compose}", source)


def image(cluster: Cluster) -> Looks:
    """Find nodes without the image, or with another than most."""
    ref = cluster.policy.image
    if not ref or cluster.policy.runtime == "host":
        seen = skip(ON_HOST if cluster.policy.runtime == "host" else "no image is named")
        return [(name, seen) for name in cluster.nodes]
    return [(name, _image(cluster.nodes[str(name)], ref, seen)) for name, seen in compare(cluster, IMAGE)]


def _image(node: Node, ref: str, compared: Seen) -> Seen:
    own = node.facts.engine
    if own is None or not own.running:
        return skip("the engine does not answer, which is told elsewhere")
    if ref not in own.images:
        return unknown(f"nobody could look for {ref}{f': {own.why}' if own.why else ''}", "engine")
    if own.images[ref] is None:
        remedy = "load or pull it: ansible-playbook muster.train.setup --tags container"
        return Seen("fail", f"{ref} is not there", "the image on every node", "container_image", remedy)
    # Its digest alone does not say which image is meant.
    source = f"container_image {ref}; {compared.source}"
    return dataclasses.replace(compared, source=source) if compared.status == "fail" else compared


def compose_file(node: Node, cluster: Cluster) -> Seen:
    """Find nodes without the compose file."""
    if cluster.policy.runtime == "host":
        return skip(ON_HOST)
    file = (node.facts.files or {}).get(cluster.policy.compose_file)
    if file is None:
        return skip("setup writes it, and a launch looks for it")
    if file.readable:
        return fine(file.path, "launch_compose_file")
    return Seen(
        "fail",
        f"{file.path} {'cannot be read' if file.exists else 'is not there'}",
        f"the compose file with the service {cluster.policy.compose_service}",
        f"launch_compose_file, for launch_runtime is {cluster.policy.runtime}",
        "write it with the role muster.train.container, or set launch_compose_file to where it is",
    )


def privileged(node: Node, cluster: Cluster) -> Seen:
    """Tell of containers that are given the whole machine."""
    if cluster.policy.runtime == "host":
        return skip(ON_HOST)
    if not cluster.policy.privileged:
        return fine("containers get the devices they need and no more", "container_privileged")
    return Seen(
        "fail",
        "containers are privileged: whoever is root in one is root on the node",
        "containers that are not",
        "container_privileged",
        "leave container_privileged out: devices, IPC_LOCK and memlock are given without it; where they have to be: "
        "preflight_levels: {privileged: off}",
    )
