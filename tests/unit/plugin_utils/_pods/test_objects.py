# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the parser of StatefulSets and pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._pods.objects import (
    NETWORK_STATUS,
    Pod,
    PodNetwork,
    StatefulSet,
    parse_networks,
    parse_objects,
)
from ansible_collections.muster.train.tests.support.pod_objects import listing, pod, statefulset, unscheduled, waiting

NETWORKS = [
    {"name": "ovn-kubernetes", "interface": "eth0", "ips": ["10.128.2.7"], "default": True},
    {
        "name": "training/eno5np0-network",
        "interface": "net1",
        "ips": ["192.168.101.7", "fd00::7"],
        "device-info": {"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:5e:00.2"}},
    },
    {"name": "training/macvlan", "interface": "net2"},
]


def test_a_statefulset_and_a_pod() -> None:
    sets, pods = parse_objects(listing(statefulset(), pod("trainer-10", annotations={NETWORK_STATUS: "[]"})))
    assert sets == [StatefulSet("trainer", "training", "uid-trainer", 2, "trainer")]
    expected = Pod("trainer-10", "uid-trainer", 10, "Running", True, node="gpu1", addresses=["10.244.0.11"])
    assert pods == [expected]


def test_ordinals_may_begin_later() -> None:
    [made], _pods = parse_objects(listing(statefulset(replicas=3, ordinals={"start": 5})))
    assert list(made.ordinals) == [5, 6, 7]


def test_networks_beside_that_of_the_cluster() -> None:
    assert parse_networks(json.dumps(NETWORKS)) == [
        PodNetwork("training/eno5np0-network", "net1", ["192.168.101.7", "fd00::7"], "0000:5e:00.2"),
        PodNetwork("training/macvlan", "net2"),
    ]


@pytest.mark.parametrize(
    ("changes", "waits_for"),
    [
        (waiting("ImagePullBackOff", 'Back-off pulling image "x:1"'), 'ImagePullBackOff: Back-off pulling image "x:1"'),
        (unscheduled("0/2 nodes are available:\n 2 Insufficient nvidia.com/gpu."), "Unschedulable: 0/2 nodes are"),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory"),
        ({"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}, "OOMKilled"),
        ({"initContainerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]}, ""),
        ({}, ""),
    ],
)
def test_why_a_pod_does_not_run(changes: dict[str, Any], waits_for: str) -> None:
    _sets, [made] = parse_objects(listing(pod("trainer-0", **changes)))
    assert made.waits_for.startswith(waits_for)
    assert bool(made.waits_for) == bool(waits_for)


def test_a_pod_that_is_deleted_is_terminating() -> None:
    _sets, [made] = parse_objects(listing(pod("trainer-0", deletionTimestamp="2026-11-20T14:30:52Z")))
    assert made.terminating


@pytest.mark.parametrize("change", ["name", "ownerReferences"])
def test_what_is_no_pod_of_a_statefulset_is_left_out(change: str) -> None:
    made = pod("trainer-0")
    made["metadata"][change] = "trainer-00" if change == "name" else [{"kind": "Job", "controller": True, "uid": "u"}]
    assert parse_objects(listing(made)) == ([], [])


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def test_no_answer_is_an_exception() -> None:
    annotations = {NETWORK_STATUS: json.dumps(NETWORKS)}
    text = listing(statefulset(ordinals={"start": 1}), pod("trainer-0", annotations=annotations, **waiting("A", "b")))
    whole = {"answer": json.loads(text), "networks": NETWORKS}
    for path in paths(whole):
        for value in (None, 1, -1, True, "x", [], {}, [None], {"reason": 1}, float("nan")):
            changed = json.loads(json.dumps(whole))
            place = changed
            for key in path[:-1]:
                place = place[key]
            if path:
                place[path[-1]] = value
            parse_objects(json.dumps(changed["answer"]))
            parse_networks(json.dumps(changed["networks"]))
    assert parse_objects("no JSON") == parse_objects("[" * 100_000) == ([], [])
