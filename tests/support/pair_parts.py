# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches among pairs for tests: their requests, what the head writes, and their outcomes."""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.pairs import PairSearch
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs.outcome import PairsOutcome
from ansible_collections.muster.train.plugins.plugin_utils._request.benchmark import decided
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.pair_networks import Network, searched
from ansible_collections.muster.train.tests.support.plan_parts import given, request


def asked(count: int = 3, **parameters: Any) -> dict[str, Any]:
    """The request of `pairs` on `count` nodes."""
    built_in = {parameter.name: parameter.built_in() for parameter in VERBS["pairs"]}
    settings = {name: {"value": value, "origin": "default", "layer": "default"} for name, value in built_in.items()}
    settings.update({name: given(value, name) for name, value in parameters.items()})
    return {**request(count), "verb": "pairs", "parameters": {**settings, **decided("pairs")}}


def search_of(network: Network, rounds: int = 12) -> PairSearch:
    """What the head has written at the end of a search in such a network."""
    search = searched(network, rounds)
    last = search.samples[-1].round
    return PairSearch(
        network.nodes,
        last,
        search.samples,
        search.culprits,
        search.reason,
        "2.13.0",
        None,
        *(search.groups, search.unnamed, search.unmeasured),
    )


def written(search: PairSearch) -> dict[str, Any]:
    """The file of the head."""
    rows = [sample.to_list() for sample in search.samples]
    return {**vars(search), "samples": rows, "culprits": [dataclasses.asdict(item) for item in search.culprits]}


def outcome(network: Network, **changes: Any) -> PairsOutcome:
    """What the report has of such a search."""
    known: dict[str, Any] = {
        "run_id": "pairs_20261120_143052_3f9a",
        "created": "2026-11-20T14:30:52Z",
        "cluster": "lab",
        "backend": "gloo",
        "size": 4 << 20,
        "tolerance": 20,
        "names": [f"node{place}" for place in range(network.nodes)],
        "search": search_of(network),
    }
    return PairsOutcome(**{**known, **changes})
