# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether pods are there, by what an API server answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of
from ansible_collections.muster.train.plugins.plugin_utils._pods.waiting import (
    PodProblem,
    is_settled,
    judge_pods,
    problems_of_events,
)

REVISION = "muster-5d8f"
CREATED = "2026-11-30T13:00:00Z"
NOW: float = (seconds_of(CREATED) or 0) + 3600
UNSCHEDULABLE = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."


def pod(ordinal: int, ready: bool = True, revision: str = REVISION, **status: Any) -> dict[str, Any]:
    labels = {"controller-revision-hash": revision}
    metadata = {"name": f"muster-{ordinal}", "labels": labels, "creationTimestamp": CREATED}
    conditions = [{"type": "Ready", "status": str(ready)}, *status.pop("conditions", [])]
    return {"metadata": metadata, "status": {"conditions": conditions, **status}}


def waiting(ordinal: int, reason: str, message: str = "") -> dict[str, Any]:
    return pod(ordinal, False, containerStatuses=[{"state": {"waiting": {"reason": reason, "message": message}}}])


def refused(ordinal: int, message: str = UNSCHEDULABLE) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return pod(ordinal, False, conditions=[condition])


GONE = {**pod(1), "metadata": {**pod(1)["metadata"], "deletionTimestamp": "2026-11-30T14:00:00Z"}}
ENDED = pod(1, False, containerStatuses=[{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}])


@pytest.mark.parametrize(
    ("pods", "replicas", "settled"),
    [
        ([pod(0), pod(1)], 2, (True, True)),
        ([], 0, (True, True)),
        ([pod(0)], 0, (False, False)),  # has to go
        ([pod(0), GONE], 1, (False, False)),
        ([pod(0), pod(1, revision="muster-old")], 2, (False, False)),
        ([pod(0, revision="muster-old"), waiting(1, "ImagePullBackOff")], 2, (False, True)),
        ([pod(0, revision="muster-old"), waiting(1, "ContainerCreating")], 2, (False, False)),
        ([pod(0), waiting(1, "ContainerCreating")], 2, (False, False)),
        ([pod(0)], 2, (False, True)),  # a quota may refuse the other one
        ([pod(0), refused(1)], 2, (False, True)),
        ([waiting(0, "ContainerCreating"), refused(1)], 2, (False, False)),
        ([pod(0), waiting(1, "ImagePullBackOff")], 2, (False, True)),
    ],
)
def test_waiting_ends_when_all_are_ready_or_nothing_moves(
    pods: list[Any], replicas: int, settled: tuple[bool, bool]
) -> None:
    state = judge_pods(pods, "muster", replicas, REVISION)
    assert (is_settled(state, replicas, 5, 60, NOW), is_settled(state, replicas, 60, 60, NOW)) == settled


def test_a_refusal_has_to_last_however_many_pods_were_replaced_before() -> None:
    state = judge_pods([pod(0, revision="muster-old"), waiting(1, "ImagePullBackOff")], "muster", 2, REVISION)
    assert [is_settled(state, 2, 300, 60, NOW - 3600 + age) for age in (1, 60)] == [False, True]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (refused(1), PodProblem("pod muster-1", "Unschedulable", UNSCHEDULABLE)),
        (waiting(1, "ErrImagePull", "no\n such  image"), PodProblem("pod muster-1", "ErrImagePull", "no such image")),
        (ENDED, PodProblem("pod muster-1", "OOMKilled", "exit code 137")),
    ],
)
def test_a_problem_is_what_the_cluster_says(item: dict[str, Any], problem: PodProblem) -> None:
    assert judge_pods([pod(0), item], "muster", 2).problems == [problem]


def event(kind: str, name: str, message: str, when: str = "2026-11-30T14:00:00Z", **changes: Any) -> dict[str, Any]:
    about = {"kind": kind, "name": name}
    return {
        "type": "Warning",
        "reason": "FailedCreate",
        "involvedObject": about,
        "message": message,
        "lastTimestamp": when,
        **changes,
    }


def test_of_the_events_the_newest_warning_about_each_object() -> None:
    events = [
        event("StatefulSet", "muster", "exceeded quota: gpus", when="2026-11-30T14:01:00Z"),
        event("StatefulSet", "muster", "earlier"),
        event("StatefulSet", "other", "of another one"),
        event("Pod", "muster-0", "all is well", type="Normal"),
        event("PersistentVolumeClaim", "workspace-muster-1", "no class"),
    ]
    problems = problems_of_events(events, "muster", ["muster-0", "muster-1"], ["workspace-muster-1"])
    assert [(problem.subject, problem.message) for problem in problems] == [
        ("StatefulSet muster", "exceeded quota: gpus"),
        ("claim workspace-muster-1", "no class"),
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "status", "conditions", "type", "state", "waiting", "containerStatuses", "name"]
            ),
            values,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_answer_is_an_exception(answer: Any) -> None:
    judge_pods(answer, "muster", 2)
    judge_pods([answer], "muster", 2)
    problems_of_events([answer], "muster", ["muster-0"])
