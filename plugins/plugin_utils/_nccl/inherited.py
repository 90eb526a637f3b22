# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's ranks inherit, as layers below everything that a launch sets.

A launch sets real variables, which win over the login's and the image's, and those win over nccl.conf (NCCL's own
order). What nothing sets in between has its effect, so the resolver decides the rest to fit it, as for users' values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.job import VISIBLE_DEVICES
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.system import Inherited

from .._cluster.node import UserLayer
from .._findings.origin import Layer, Origin
from .library import Library

LAYERS = {"login": Layer.LOGIN, "image": Layer.IMAGE, "nccl": Layer.CONF, "rccl": Layer.CONF}
INHERITED = tuple(dict.fromkeys(LAYERS.values()))
ENVIRONMENT = ("login", "image")
FILES = ("nccl", "rccl")


def in_containers(facts: NodeFacts) -> NodeFacts:
    """Return the facts without what only processes of the node inherit."""
    inherited = None if facts.inherited is None else [item for item in facts.inherited if item.in_container]
    return dataclasses.replace(facts, inherited=inherited)


def in_image(facts: NodeFacts) -> NodeFacts:
    """Return the facts as ranks in an Apptainer image inherit: its variables, and of the node the files of NCCL.

    Of the login they get the choice of GPUs.
    """
    apptainer, node = facts.apptainer, facts.inherited
    if apptainer is None or node is None:
        return facts
    image = [Inherited("image", apptainer.image, apptainer.variables, in_container=True)] if apptainer.variables else []
    login = [chosen for item in node if item.kind == "login" and (chosen := _chosen_gpus(item)).variables]
    return dataclasses.replace(facts, inherited=[*login, *image, *(item for item in node if item.kind in FILES)])


def _chosen_gpus(login: Inherited) -> Inherited:
    variables = {name: value for name, value in login.variables.items() if name.endswith(VISIBLE_DEVICES)}
    return dataclasses.replace(login, variables=variables)


# By the runtime: what its ranks inherit, of all that a node has.
INSIDE: Mapping[str, Callable[[NodeFacts], NodeFacts]] = {"docker": in_containers, "apptainer": in_image}


def layers_of(facts: NodeFacts | None, library: Library) -> list[UserLayer]:
    """Return what the ranks of this library inherit, the lowest first."""
    return _layers(facts, {*ENVIRONMENT, library.name})


def environment_of(facts: NodeFacts) -> list[UserLayer]:
    """Return what every library of the ranks reads: real variables, without the files that only NCCL reads."""
    return _layers(facts, ENVIRONMENT)


def _layers(facts: NodeFacts | None, kinds: Collection[str]) -> list[UserLayer]:
    inherited: Iterable[Inherited] = (facts.inherited if facts else None) or ()
    strongest_first = [item for item in inherited if item.kind in kinds]
    return [(item.variables, Origin(LAYERS[item.kind], item.source)) for item in reversed(strongest_first)]
