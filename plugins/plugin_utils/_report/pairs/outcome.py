# SPDX-License-Identifier: GPL-3.0-or-later
"""A search among pairs as data: what is slow by name, and what each node reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.pairs import (
    MEASURED,
    Culprit,
    PairSample,
    PairSearch,
    low,
)

SCHEMA = 1
FILE = "outputs/pairs.json"  # below an experiment


@frozen
class NodeThird:
    """What the better third of a node's measurements reached, which is judged; None where nothing was measured."""

    node: str
    measurements: int
    failed: int
    latency_us: float | None
    bandwidth_gb_per_s: float | None
    resent: float | None
    segment: int | None


@frozen
class PairsOutcome:
    """A search and the names of its nodes, in the order of their ranks."""

    run_id: str
    created: str
    cluster: str | None
    backend: str
    size: int
    tolerance: int
    names: Sequence[str]
    search: PairSearch

    @property
    def nodes(self) -> list[NodeThird]:
        """What each node reached."""
        of_nodes: dict[int, list[PairSample]] = {place: [] for place in range(len(self.names))}
        for sample in self.search.samples:
            for place in sample.pair:
                of_nodes[place].append(sample)
        return [_third(self.names[place], samples) for place, samples in of_nodes.items()]

    def names_in(self, places: Sequence[int]) -> list[str]:
        """Return the names of nodes."""
        return [self.names[place] for place in places]

    def names_of(self, culprit: Culprit) -> list[str]:
        """Return the names of a culprit's nodes."""
        return self.names_in(culprit.nodes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as the document has it."""
        search = self.search
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in ("run_id", "created", "cluster", "backend", "tolerance")},
            "bytes": self.size,
            "torch": search.torch,
            "library": search.library,
            "rounds": search.rounds,
            "reason": search.reason or None,
            "is_bad": search.is_bad,
            "groups": [self.names_in(group) for group in search.groups],
            "unnamed": search.unnamed,
            "unmeasured": search.unmeasured,
            "culprits": [{**asdict(item), "nodes": self.names_of(item)} for item in search.culprits],
            "by_node": [asdict(node) for node in self.nodes],
            "samples": [
                {
                    **vars(sample),
                    "first": self.names[sample.first],
                    "second": self.names[sample.second],
                    "towards": None if sample.towards is None else self.names[sample.towards],
                }
                for sample in search.samples
            ],
        }


def _third(name: str, samples: Sequence[PairSample]) -> NodeThird:
    failed = sum(sample.outcome != MEASURED for sample in samples)
    bandwidth = low(-sample.bandwidth for sample in samples if sample.bandwidth is not None)
    latency = low(sample.latency_s for sample in samples if sample.latency_s is not None)
    segment = low(-sample.segment for sample in samples if sample.segment is not None)
    return NodeThird(
        name,
        len(samples),
        failed,
        None if latency is None else latency * 1e6,
        None if bandwidth is None else -bandwidth / 1e9,
        low(sample.resent for sample in samples if sample.resent is not None),
        None if segment is None else int(-segment),
    )
