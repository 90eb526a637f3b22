# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy of a deployment: the variables of the role `openshift`, with the types that their names have there."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_int,
    check_type_list,
    check_type_str,
)

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

from .._findings.errors import UserError, display

PREFIX = "openshift_"
READERS: dict[str, Callable[..., Any]] = {
    "bool": check_type_bool,
    "int": check_type_int,
    "str": check_type_str,
    "Sequence[str]": check_type_list,
    "Sequence[Mapping[str, Any]]": check_type_list,
    "Mapping[str, Any]": check_type_dict,
}
# RFC 1123; a StatefulSet adds a hyphen, a number and, for its revisions, eleven characters to at most 63.
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
NAME_LENGTH, NAMESPACE_LENGTH = 47, 63
RDMA, TCP, AUTO = "rdma", "tcp", "auto"
PER_POD, SHARED, NONE = "pod", "shared", "none"
PAUSE, TINI, IMAGE = "pause", "tini", "image"
CHOICES = {
    "mode": (AUTO, RDMA, TCP),
    "volume": (PER_POD, SHARED, NONE),
    "init": (PAUSE, TINI, IMAGE),
    "pull_policy": ("IfNotPresent", "Always", "Never"),
}


@frozen
class Policy:
    """What is deployed; each field is the variable of the role with its prefix."""

    image: str = ""
    namespace: str = ""
    create_namespace: bool = False
    name: str = "muster"
    replicas: int = 2
    mode: str = AUTO
    container: str = "train"
    pull_policy: str = "IfNotPresent"
    pull_secrets: Sequence[str] = ()
    init: str = PAUSE
    command: Sequence[str] = ()
    env: Mapping[str, Any] = field(default_factory=dict)
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    rdma_resources: Sequence[str] = ()
    networks: Sequence[str] = ()
    requests: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    shm_size: str = ""
    volume: str = PER_POD
    volume_path: str = "/workspace"
    volume_size: str = "100Gi"
    volume_claim: str = ""
    storage_class: str = ""
    volumes: Sequence[Mapping[str, Any]] = ()
    volume_mounts: Sequence[Mapping[str, Any]] = ()
    nodes: Sequence[str] = ()
    node_selector: Mapping[str, Any] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    one_per_node: bool = True
    ipc_lock: bool = True
    privileged: bool = False
    capabilities: Sequence[str] = ()
    run_as_user: str = ""
    scc: bool = False
    service_account: str = ""
    pod_options: Mapping[str, Any] = field(default_factory=dict)
    recreate: bool = False

    @property
    def account(self) -> str:
        """The service account of the pods."""
        return self.service_account or self.name

    @property
    def is_rdma(self) -> bool:
        """Whether the pods get RDMA devices and their networks."""
        return self.mode != TCP and bool(self.rdma_resources or self.networks)


NAMES = tuple(PREFIX + known.name for known in dataclasses.fields(Policy))


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Read the variables of the role; raise UserError with a line for each mistake."""
    read: dict[str, Any] = {}
    lines = []
    for known in dataclasses.fields(Policy):
        name, kind = PREFIX + known.name, str(known.type)
        if name not in values:
            continue
        try:
            read[known.name] = READERS[kind](values[name])
        except TypeError:
            expected = {"bool": "true or false", "int": "a number", "str": "a text"}.get(
                kind, "a list" if kind.startswith("Sequence") else "a mapping"
            )
            lines.append(f"{name}: expected {expected}, saw {display(values[name])}; correct it")
    policy = Policy(**read)
    if lines := [*lines, *_errors(policy)]:
        raise UserError("\n".join(lines))
    return policy


def _errors(policy: Policy) -> list[str]:
    """Return what is wrong, a line for each mistake."""
    lines = [
        f"{PREFIX}{name}: expected {', '.join(choices)}, saw {display(getattr(policy, name))}; correct it"
        for name, choices in CHOICES.items()
        if getattr(policy, name) not in choices
    ]
    if not policy.image:
        lines.append(f"{PREFIX}image: it is empty, expected the image of the pods; set it in the inventory")
    for name, length in (("name", NAME_LENGTH), ("namespace", NAMESPACE_LENGTH)):
        value = getattr(policy, name)
        if not LABEL.fullmatch(value) or len(value) > length:
            lines.append(
                f"{PREFIX}{name}: expected lowercase letters, digits and hyphens, at most {length}, "
                f"saw {display(value)}; set it in the inventory"
            )
    if policy.replicas < 0:
        lines.append(f"{PREFIX}replicas: expected 0 or more, saw {policy.replicas}; correct it")
    if not re.fullmatch(r"[0-9]*", policy.run_as_user):
        lines.append(
            f"{PREFIX}run_as_user: expected the number of a user, saw {display(policy.run_as_user)}; correct it"
        )
    if policy.mode == RDMA and not policy.rdma_resources:
        lines.append(
            f"{PREFIX}rdma_resources: it is empty, expected the resources of the RDMA devices, because the mode is "
            f"rdma; name them (kubectl describe node shows them under Allocatable), or set {PREFIX}mode to tcp"
        )
    return lines
