# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver on plain facts, as playbooks have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._cluster.head_address import choose_address, is_reachable
from .._findings.origin import Layer, Origin
from .environments import Users, decide
from .library import Library, library_of, numbers
from .view import FabricPolicy, NodeView

MODES = ("auto", "rdma", "tcp")
MODE = Origin(Layer.CLUSTER, "mode of nccl_env")
LIBRARIES = ("nccl", "rccl")
GIVEN = "environment"


def resolve_facts(nodes: Any, mode: str = "auto", head_address: str = "") -> dict[str, Any]:
    """Resolve nodes given as {name: {rdma, gpu, node, library, version, environment}}, the head first, as plain data.

    rdma, gpu and node are the facts of these names, environment is what users set for the node; other keys are other
    facts. Raises ValueError for what is no such thing.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    if not isinstance(nodes, Mapping) or not all(isinstance(item, Mapping) for item in nodes.values()):
        raise ValueError("expected a mapping of nodes' names to mappings of their facts")
    if head_address and not is_reachable(head_address):
        raise ValueError(f"head_address is {head_address!r}, expected an IP address or a host name")
    read = {str(name): _read(str(name), item) for name, item in nodes.items()}
    found = decide(list(read.values()), Users(FabricPolicy(mode, MODE)), _address(read, head_address))
    return {
        "fabric": dataclasses.asdict(found.fabric),
        "nodes": {
            name: {
                "env": {each.name: each.value for each in environment.variables},
                "variables": [dataclasses.asdict(each) for each in environment.variables],
                "not_set": [dataclasses.asdict(each) for each in environment.not_set],
                "hcas": environment.hcas,
            }
            for name, environment in found.nodes.items()
        },
        "findings": [finding.to_dict() for finding in found.findings],
    }


def _read(name: str, item: Mapping[str, Any]) -> NodeView:
    rdma, gpu, node, env = (item.get(key) for key in ("rdma", "gpu", "node", GIVEN))
    try:
        devices = None if rdma is None else Rdma.from_dict(rdma)
        gpus = None if gpu is None else Gpu.from_dict(gpu)
        facts = None if node is None else NodeFacts.from_dict(node)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{name}: these are no facts of this collection ({type(error).__name__}: {error})") from error
    if not isinstance(env or {}, Mapping):
        raise ValueError(f"{name}: {GIVEN} is no mapping of names to values")
    container = facts.container if facts else None
    return NodeView(
        name=name,
        rdma=devices,
        gpu=gpus,
        net=facts.net if facts else None,
        library=_library(name, item, gpus, facts),
        container=None if container is None else container.kind is not None,
        layers=[({str(key): str(value) for key, value in (env or {}).items()}, Origin(Layer.NODE, GIVEN))],
    )


def _library(name: str, item: Mapping[str, Any], gpu: Gpu | None, node: NodeFacts | None) -> Library:
    found = library_of(node, gpu) if node else Library(_of_vendor(gpu), None)
    asked = item.get("library") or found.name
    if asked not in LIBRARIES:
        raise ValueError(f"{name}: library is {asked!r}, expected one of {', '.join(LIBRARIES)}")
    if version := item.get("version"):
        known = numbers(str(version))
        if known is None:
            raise ValueError(f"{name}: version is {version!r}, expected one such as 2.23.4")
        return Library(asked, known, "version")
    return found if asked == found.name else Library(asked, None)


def _of_vendor(gpu: Gpu | None) -> Literal["nccl", "rccl"]:
    return "rccl" if gpu is not None and gpu.vendor == "amd" else "nccl"


def _address(nodes: Mapping[str, NodeView], given: str) -> str:
    """Return the head's address: as given, else that of the first node's default route; empty when neither is known."""
    if given or not nodes:
        return given
    name, head = next(iter(nodes.items()))
    return "" if head.net is None else choose_address(name, "", "", head.net, together=False)[0].value
