# SPDX-License-Identifier: GPL-3.0-or-later
"""A section of the report on a node, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from ..._checks.rdma import NO_RDMA, NOT_READ
from ..._nccl.ports import HcaPort
from ..detected import DetectedNode

SectionRow = tuple[str, ...]
NOT_KNOWN = "not known"
# In what nodes differ that are alike.
INDIVIDUAL = "addresses, GUIDs, LIDs and counters"


@frozen
class Section:
    """One section: rows of a table, of which the first cell is what a row is about; without headers, names and texts.

    notes are sentences about all rows, absent is why there are none. features are what should be the same on all nodes,
    under names that people know; addresses, GUIDs, LIDs and counters are not among them. is_stacked: the names are
    long, and their texts are below them.
    """

    key: str
    title: str
    headers: SectionRow = ()
    rows: Sequence[SectionRow] = ()
    notes: Sequence[str] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    absent: str = ""
    is_stacked: bool = False


def features_of(headers: SectionRow, rows: Iterable[SectionRow], *columns: str) -> dict[str, str]:
    """Return the cells in these columns that are not empty: `mlx5_0 firmware` is the name of one."""
    places = [headers.index(column) for column in columns]
    return {f"{row[0]} {headers[place]}": row[place] for row in rows for place in places if row[place]}


def facts_of(node: DetectedNode) -> NodeFacts:
    """Return the facts of a node that answered; others have no sections."""
    if node.facts is None:
        raise AssertionError(f"{node.name} did not answer")
    return node.facts


def why_no_rdma(node: DetectedNode) -> str:
    """Return why there is nothing to say about RDMA devices; empty where there are some."""
    if node.rdma is None:
        return NOT_READ
    return "" if node.rdma.hcas else NO_RDMA


def hcas_of(node: DetectedNode) -> list[Hca]:
    """Return the devices in natural order."""
    return sorted(node.rdma.hcas if node.rdma else [], key=lambda hca: natural(hca.name))


def ports_of(node: DetectedNode) -> list[HcaPort]:
    """Return the ports of the devices in natural order."""
    return [HcaPort(hca, port) for hca in hcas_of(node) for port in hca.ports]
