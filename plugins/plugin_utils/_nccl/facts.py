# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver on plain facts, as playbooks have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._cluster.head_address import choose_address, is_reachable
from .._findings.origin import Layer, Origin
from .environments import Users, decide
from .inherited import layers_of
from .library import Library, library_of, numbers
from .view import FabricPolicy, NodeView

MODES = ("auto", "rdma", "tcp")
MODE = Origin(Layer.CLUSTER, "mode of nccl_env")
LIBRARIES = ("nccl", "rccl")
ENVIRONMENT = "environment"


def resolve_facts(nodes: Any, mode: str = "auto", head_address: str = "") -> dict[str, Any]:
    """Resolve nodes given as {name: {rdma, gpu, node, library, version, environment}}, the head first, as plain data.

    rdma, gpu and node are the facts with these names, environment is what users set for the node; other keys are
    ignored. Raise ValueError for invalid input.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    if not isinstance(nodes, Mapping) or not all(isinstance(item, Mapping) for item in nodes.values()):
        raise ValueError("expected a mapping of nodes' names to mappings of their facts")
    if head_address and not is_reachable(head_address):
        raise ValueError(f"head_address is {head_address!r}, expected an IP address or a host name")
    views = [_view(str(name), item) for name, item in nodes.items()]
    if not head_address and views and views[0].net:
        head_address = choose_address(views[0].name, "", "", views[0].net, together=False)[0].value
    decided = decide(views, Users(FabricPolicy(mode, MODE)), head_address)
    return {
        "fabric": dataclasses.asdict(decided.fabric),
        "nodes": {
            name: {
                "env": {item.name: item.value for item in environment.variables},
                "variables": [dataclasses.asdict(item) for item in environment.variables],
                "not_set": [dataclasses.asdict(item) for item in environment.not_set],
                "hcas": environment.hcas,
            }
            for name, environment in decided.nodes.items()
        },
        "findings": [finding.to_dict() for finding in decided.findings],
    }


def _view(name: str, item: Mapping[str, Any]) -> NodeView:
    rdma, gpu, node = (item.get(key) for key in ("rdma", "gpu", "node"))
    try:
        devices = None if rdma is None else Rdma.from_dict(rdma)
        gpus = None if gpu is None else Gpu.from_dict(gpu)
        facts = None if node is None else NodeFacts.from_dict(node)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{name}: not facts of this collection ({type(error).__name__}: {error})") from error
    values = item.get(ENVIRONMENT) or {}
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: {ENVIRONMENT} is not a mapping of names to values")
    container = facts.container if facts else None
    library = _library(name, item, gpus, facts)
    return NodeView(
        name=name,
        rdma=devices,
        gpu=gpus,
        net=facts.net if facts else None,
        library=library,
        container=None if container is None else container.kind is not None,
        inherited=layers_of(facts, library),
        layers=[({str(key): str(value) for key, value in values.items()}, Origin(Layer.NODE, ENVIRONMENT))],
    )


def _library(name: str, item: Mapping[str, Any], gpu: Gpu | None, node: NodeFacts | None) -> Library:
    vendor_library = Library("rccl" if gpu is not None and gpu.vendor == "amd" else "nccl", None)
    detected = library_of(node, gpu) if node else vendor_library
    library = item.get("library") or detected.name
    if library not in LIBRARIES:
        raise ValueError(f"{name}: library is {library!r}, expected one of {', '.join(LIBRARIES)}")
    if version := item.get("version"):
        known = numbers(str(version))
        if known is None:
            raise ValueError(f"{name}: version is {version!r}, expected one such as 2.23.4")
        return Library(library, known, "version")
    return detected if library == detected.name else Library(library, None)
