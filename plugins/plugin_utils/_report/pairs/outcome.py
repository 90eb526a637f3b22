# SPDX-License-Identifier: GPL-3.0-or-later
"""A search among pairs as data: what is slow by name, and each node's middle values."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.pairs import (
    MEASURED,
    Culprit,
    PairSample,
    PairSearch,
)

SCHEMA = 1
FILE = "outputs/pairs.json"  # below an experiment


@frozen
class NodeMiddle:
    """The medians of a node over its measurements; None where nothing was measured."""

    node: str
    measurements: int
    failed: int
    latency_us: float | None
    bandwidth_gb_per_s: float | None
    resent: float | None
    segment: float | None


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
    def nodes(self) -> list[NodeMiddle]:
        """The middle values of each node."""
        of_nodes: dict[int, list[PairSample]] = {place: [] for place in range(len(self.names))}
        for sample in self.search.samples:
            for place in sample.pair:
                of_nodes[place].append(sample)
        return [_middle(self.names[place], samples) for place, samples in of_nodes.items()]

    def names_of(self, culprit: Culprit) -> list[str]:
        """Return the names of a culprit's nodes."""
        return [self.names[place] for place in culprit.nodes]

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
            "culprits": [{**asdict(item), "nodes": self.names_of(item)} for item in search.culprits],
            "by_node": [asdict(node) for node in self.nodes],
            "samples": [
                {**vars(sample), "first": self.names[sample.first], "second": self.names[sample.second]}
                for sample in search.samples
            ],
        }


def _middle(name: str, samples: Sequence[PairSample]) -> NodeMiddle:
    def median(value: Callable[[PairSample], float | None], scale: float = 1.0) -> float | None:
        return _median((value(sample) for sample in samples), scale)

    failed = sum(sample.outcome != MEASURED for sample in samples)
    return NodeMiddle(
        name,
        len(samples),
        failed,
        median(lambda sample: sample.latency_s, 1e6),
        median(lambda sample: sample.bandwidth, 1e-9),
        median(lambda sample: sample.resent),
        median(lambda sample: sample.segment),
    )


def _median(values: Iterable[float | None], scale: float) -> float | None:
    known = [value for value in values if value is not None]
    return scale * statistics.median(known) if known else None
