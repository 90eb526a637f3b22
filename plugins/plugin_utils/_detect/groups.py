# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are alike, and in what the others differ.

Nodes are compared by features: properties that should be the same on all, under names that people know. Addresses,
GUIDs and serial numbers are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._nccl.view import version_text
from . import links, topology
from .detected import DetectedNode

ABSENT = "none"


@frozen
class Difference:
    """Features in which a group differs from the largest group; features with the same two values are one difference.

    value is that of the group's nodes, usual that of the largest group, of which node is one.
    """

    features: tuple[str, ...]
    value: str
    usual: str
    node: str


@frozen
class Alike:
    """Nodes with the same features; differences from the largest group, which has none."""

    nodes: tuple[str, ...]
    differences: tuple[Difference, ...]


def groups(reports: Sequence[DetectedNode]) -> list[Alike]:
    """Group the nodes that answered, the largest group first, then by their first node."""
    return group_alike({report.name: features(report) for report in reports if report.answered})


def group_alike(features_by_node: Mapping[str, Mapping[str, str]]) -> list[Alike]:
    """Group nodes by their features in the same order."""
    by_features: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, node_features in features_by_node.items():
        by_features.setdefault(tuple(node_features.items()), []).append(name)
    order = sorted(by_features.items(), key=lambda item: -len(item[1]))
    usual, node = (dict(order[0][0]), order[0][1][0]) if order else ({}, "")
    return [Alike(tuple(names), tuple(_differences(dict(items), usual, node))) for items, names in order]


def _differences(group: dict[str, str], usual: dict[str, str], node: str) -> Iterator[Difference]:
    by_values: dict[tuple[str, str], list[str]] = {}
    for feature in dict.fromkeys([*usual, *group]):
        pair = group.get(feature, ABSENT), usual.get(feature, ABSENT)
        if pair[0] != pair[1] and not _is_part(feature, group.keys() ^ usual.keys()):
            by_values.setdefault(pair, []).append(feature)
    for (value, usual_value), names in by_values.items():
        yield Difference(tuple(names), value, usual_value, node)


def _is_part(feature: str, missing: Set[str]) -> bool:
    """Whether it is about something that is missing as a whole: `mlx5_8 port 1` of mlx5_8."""
    words = feature.split(" ")
    return any(" ".join(words[:count]) in missing for count in range(1, len(words)))


def features(report: DetectedNode) -> dict[str, str]:
    """Return what should be the same on all nodes, by name, in the order in which it is shown."""
    result = {**_of_gpus(report.gpu), **_of_rdma(report)}
    if report.library:
        result["library"] = version_text(report.library)
    result.update({variable.name: variable.value for variable in report.environment})
    return result


def _of_gpus(gpu: Gpu | None) -> dict[str, str]:
    if gpu is None:
        return {"GPUs": "not known"}
    result = {"GPUs": str(gpu.count)}
    optional = {"driver": gpu.driver_version, "runtime": gpu.runtime_version, "links": links.summary(gpu)}
    result.update({f"GPU {name}": value for name, value in optional.items() if value})
    for device in gpu.devices:
        parts = [device.name, topology.memory(device), device.partition, _numa(device.numa_node)]
        result[f"GPU {device.index}"] = ", ".join(part for part in parts if part)
    for near in gpu.nearest_nics:
        result[f"GPU {near.gpu} nearest NIC"] = f"{near.relation} {', '.join(near.names)}"
    return result


def _of_rdma(report: DetectedNode) -> dict[str, str]:
    rdma = report.rdma
    if rdma is None:
        return {"HCAs": "not known"}
    result = {"HCAs": str(len(rdma.hcas))}
    loaded = rdma.gdr.loaded
    result["GPUDirect RDMA modules"] = "not known" if loaded is None else ", ".join(loaded) or ABSENT
    for hca in sorted(rdma.hcas, key=lambda hca: natural(hca.name)):
        result[hca.name] = _hca(hca)
        for port in hca.ports:
            chosen = report.gid_index(hca, port)
            index = "" if chosen is None else f", RoCE v2 GID {chosen}"
            usable = "usable" if port.usable else "not usable"
            state = f"{port.state or 'state not known'}, {topology.rate(port)}"
            result[f"{hca.name} port {port.port}"] = f"{state} {port.link_layer or ''}{index}, {usable}"
    return result


def _hca(hca: Hca) -> str:
    parts = [hca.driver, hca.hca_type, hca.fw_ver and f"firmware {hca.fw_ver}", _numa(hca.numa_node)]
    return ", ".join(part for part in parts if part)


def _numa(node: int | None) -> str:
    return "" if node is None else f"NUMA node {node}"
