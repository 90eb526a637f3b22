# SPDX-License-Identifier: GPL-3.0-or-later
"""StatefulSets and their pods, as `kubectl get statefulsets,pods --output=json` prints them.

The fields are those of the Kubernetes API (apps/v1 StatefulSet, v1 Pod) and of Multus's annotation
(k8snetworkplumbingwg/multi-net-spec, network-status).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

# A larger number than any cluster has pods.
MOST = 1_000_000
NETWORK_STATUS = "k8s.v1.cni.cncf.io/network-status"
_NAME = re.compile(r".+-(0|[1-9][0-9]{0,8})")


@frozen
class PodNetwork:
    """A network of a pod beside that of the cluster, as Multus has attached it; pci is the virtual function."""

    name: str
    interface: str
    addresses: list[str] = field(default_factory=list)
    pci: str = ""


@frozen
class Pod:
    """A pod of a StatefulSet. waits_for is why it, or a container of it, does not run, in the words of Kubernetes."""

    name: str
    owner: str
    ordinal: int
    phase: str = ""
    ready: bool = False
    terminating: bool = False
    node: str = ""
    addresses: list[str] = field(default_factory=list)
    networks: list[PodNetwork] = field(default_factory=list)
    waits_for: str = ""


@frozen
class StatefulSet:
    """What is wanted: so many pods, from the ordinal `first` on, whose names a headless service makes known.

    uid is what its pods name as owner.
    """

    name: str
    namespace: str
    uid: str
    replicas: int
    service: str
    first: int = 0

    @property
    def ordinals(self) -> range:
        """The ordinals of the pods that are wanted."""
        return range(self.first, self.first + self.replicas)


def parse_objects(text: str) -> tuple[list[StatefulSet], list[Pod]]:
    """Return the StatefulSets and the pods of any; what is not as the API has it is left out."""
    items = as_dict(parse_json(text)).get("items")
    objects = [as_dict(item) for item in items] if isinstance(items, list) else []
    sets = [_statefulset(item) for item in objects if item.get("kind") == "StatefulSet"]
    pods = [_pod(item) for item in objects if item.get("kind") == "Pod"]
    return [item for item in sets if item is not None], [item for item in pods if item is not None]


def parse_networks(text: str) -> list[PodNetwork]:
    """Return the networks of Multus's annotation without that of the cluster, which is marked as the default."""
    items = parse_json(text)
    networks = [as_dict(item) for item in items] if isinstance(items, list) else []
    return [
        PodNetwork(
            name=_text(network.get("name")),
            interface=_text(network.get("interface")),
            addresses=_texts(network.get("ips")),
            pci=_text(_dig(network, "device-info", "pci", "pci-address")),
        )
        for network in networks
        if network.get("default") is not True
    ]


def _statefulset(item: dict[Any, Any]) -> StatefulSet | None:
    meta, spec = as_dict(item.get("metadata")), as_dict(item.get("spec"))
    name, uid = _text(meta.get("name")), _text(meta.get("uid"))
    replicas, first = spec.get("replicas", 1), as_dict(spec.get("ordinals")).get("start", 0)
    if not name or not uid or not _is_count(replicas) or not _is_count(first):
        return None
    return StatefulSet(name, _text(meta.get("namespace")), uid, replicas, _text(spec.get("serviceName")), first)


def _pod(item: dict[Any, Any]) -> Pod | None:
    meta, spec, status = (as_dict(item.get(part)) for part in ("metadata", "spec", "status"))
    name, owner = _text(meta.get("name")), _owner(meta)
    match = _NAME.fullmatch(name)
    if owner is None or match is None:
        return None
    return Pod(
        name=name,
        owner=owner,
        ordinal=int(match.group(1)),
        phase=_text(status.get("phase")),
        ready=_condition(status, "Ready").get("status") == "True",
        terminating="deletionTimestamp" in meta,
        node=_text(spec.get("nodeName")),
        addresses=[_text(as_dict(item).get("ip")) for item in _list(status.get("podIPs"))],
        networks=parse_networks(_text(as_dict(meta.get("annotations")).get(NETWORK_STATUS))),
        waits_for=_obstacle(status),
    )


def _owner(meta: dict[Any, Any]) -> str | None:
    owners = [as_dict(item) for item in _list(meta.get("ownerReferences"))]
    sets = (owner for owner in owners if owner.get("kind") == "StatefulSet" and owner.get("controller") is True)
    return next((_text(owner.get("uid")) for owner in sets), None)


def _condition(status: dict[Any, Any], name: str) -> dict[Any, Any]:
    conditions = map(as_dict, _list(status.get("conditions")))
    return next((condition for condition in conditions if condition.get("type") == name), {})


def _obstacle(status: dict[Any, Any]) -> str:
    """Return why a pod does not run: what the kubelet says of it or of a container, or the scheduler."""
    containers = [*_list(status.get("initContainerStatuses")), *_list(status.get("containerStatuses"))]
    states = [as_dict(as_dict(container).get("state")) for container in containers]
    parts = [as_dict(state.get(kind)) for kind in ("waiting", "terminated") for state in states]
    reports = [part for part in (status, *parts, _condition(status, "PodScheduled")) if part.get("reason")]
    known = [part for part in reports if part["reason"] != "Completed"]
    if not known:
        return ""
    texts = (" ".join(_text(known[0].get(name)).split()) for name in ("reason", "message"))
    return ": ".join(text for text in texts if text)


def _dig(value: Any, *names: str) -> Any:
    for name in names:
        value = as_dict(value).get(name)
    return value


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
