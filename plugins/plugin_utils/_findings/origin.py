# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a value came from: the layer is for code, the label is for people."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen


class Layer(enum.StrEnum):
    """Who gave a value, the lowest first; the names are in plan.json and run.yml."""

    DEFAULT = "default"
    CONF = "nccl.conf"  # a configuration file of NCCL or RCCL on the node
    IMAGE = "image"  # the container's own environment
    LOGIN = "login"  # the environment of the user's commands on the node
    MACHINE = "machine"  # what the machine needs, whatever the fabric
    FABRIC = "fabric"  # the resolver's decision
    CLUSTER = "cluster"
    NODE = "node"
    EARLIER = "earlier"  # given for this run when it was launched before
    ENVIRONMENT = "environment"
    EXTRA_VARS = "extra_vars"


FOR_ONE_RUN = (Layer.EARLIER, Layer.ENVIRONMENT, Layer.EXTRA_VARS)


@frozen
class Origin:
    """A layer, and what people call the place in it; nothing reads the label back."""

    layer: Layer
    label: str

    def __str__(self) -> str:
        return self.label

    @classmethod
    def of(cls, setting: Mapping[str, Any]) -> Origin:
        """Read the origin of a setting or a variable; raise ValueError if the layer is not valid."""
        return cls(Layer(setting["layer"]), str(setting["origin"]))

    def to_dict(self) -> dict[str, str]:
        """Return the two keys that a setting and a variable have for it."""
        return {"origin": self.label, "layer": self.layer.value}


DEFAULT = Origin(Layer.DEFAULT, "default")
MUSTER = Origin(Layer.MACHINE, "muster")
FABRIC = Origin(Layer.FABRIC, "fabric")


def cluster_variable(variable: str) -> Origin:
    """Return the origin of a variable that holds for the whole cluster."""
    return Origin(Layer.CLUSTER, f"cluster ({variable})")


def node_variable(variable: str) -> Origin:
    """Return the origin of a node's own variable."""
    return Origin(Layer.NODE, f"node ({variable})")


LAUNCH_DEFAULTS = cluster_variable("launch_defaults")
LAUNCH_ENV = cluster_variable("launch_env")
LAUNCH_NODE_ENV = node_variable("launch_node_env")
