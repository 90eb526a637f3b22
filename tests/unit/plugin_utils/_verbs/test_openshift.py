# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of the role `openshift`, and those of `scale`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import openshift, scale
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, Play
from ansible_collections.muster.train.tests.support.deployments import FULL, PLAIN, objects_of
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of

REASON = "0/2 nodes are available"


def play(
    policy: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    verb: str = "setup",
    **parameters: Any,
) -> Play:
    """Return a play on the controller whose tasks have registered these answers; no node exists."""
    known = play_of(verb, {}, parameters, policy or PLAIN)
    answers = answers or {}
    return dataclasses.replace(known, read_answer=lambda host, name: answers.get(name) if host == "localhost" else None)


def standing(replicas: int = 2, **changes: Any) -> dict[str, Any]:
    """Return a StatefulSet as the server has it."""
    item = copy.deepcopy(objects_of(PLAIN, **changes)["StatefulSet"])
    item["spec"]["replicas"] = replicas
    return {**item, "status": {"updateRevision": "r1"}}


def pod(ordinal: int, ready: bool = True) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    if not ready:
        conditions.append({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": REASON})
    labels = {"controller-revision-hash": "r1"}
    return {"metadata": {"name": f"muster-{ordinal}", "labels": labels}, "status": {"conditions": conditions}}


def items(*resources: Any) -> dict[str, Any]:
    return {"resources": list(resources)}


def result(step: Conclude, known: Play) -> Mapping[str, Any]:
    return step.conclusion(known).result


def test_only_a_new_stateful_set_is_given_a_number_of_pods() -> None:
    new = result(openshift.plan, play({**PLAIN, "openshift_replicas": 3}))["objects"]
    again = result(openshift.plan, play(answers={"openshift__standing": items(standing(5))}))["objects"]
    assert [item["kind"] for item in new] == [item["kind"] for item in again]
    assert (new[-1]["spec"]["replicas"], again[-1]["spec"].get("replicas")) == (3, None)


def test_changed_volumes_are_refused_and_the_way_out_keeps_the_number_of_pods() -> None:
    policy, answers = {**PLAIN, "openshift_volume_size": "200Gi"}, {"openshift__standing": items(standing(5))}
    with pytest.raises(UserError, match="openshift_recreate"):
        openshift.plan.conclusion(play(policy, answers))
    planned = result(openshift.plan, play({**policy, "openshift_recreate": True}, answers))
    assert (planned["removes"], planned["objects"][-1]["spec"]["replicas"]) == (True, 5)
    assert result(openshift.plan, play({**PLAIN, "openshift_recreate": True}, answers))["removes"] is False


def test_a_dry_run_changes_no_stateful_set_that_cannot_be_changed() -> None:
    policy = {**PLAIN, "openshift_volume_size": "200Gi", "openshift_recreate": True}
    known = dataclasses.replace(play(policy, {"openshift__standing": items(standing())}), is_checked=True)
    conclusion = openshift.plan.conclusion(known)
    assert [item["kind"] for item in conclusion.result["objects"]] == ["ServiceAccount", "Service"]
    assert (conclusion.result["removes"], len(conclusion.lines)) == (False, 1)


def test_a_dry_run_needs_the_namespace() -> None:
    policy = {**PLAIN, "openshift_create_namespace": True}
    for answers, kinds in (
        ({}, ["Namespace"]),
        ({"openshift__namespace": items({"kind": "Namespace"})}, ["Namespace", "ServiceAccount"]),
    ):
        checked = dataclasses.replace(play(policy, answers), is_checked=True)
        assert [item["kind"] for item in result(openshift.plan, checked)["objects"]][:2] == kinds


def test_the_end_of_a_pod_waits_for_the_stop_of_its_ranks() -> None:
    known = dataclasses.replace(
        play(), read_group=lambda group, names: dict.fromkeys(names, 200) if group == "nodes" else {}
    )
    pod = result(openshift.plan, known)["objects"][-1]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 200


def test_the_mode_of_the_command_counts_before_that_of_the_policy() -> None:
    objects = result(openshift.plan, play(FULL, mode="tcp"))["objects"]
    limits = objects[-1]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert set(limits) == {"nvidia.com/gpu", "memory", "cpu"}


def test_what_the_server_drops_is_an_error() -> None:
    policy = {**PLAIN, "openshift_pod_options": {"runtimeClass": "nvidia"}}
    applied = {"openshift__applied": {"results": [{"result": item} for item in objects_of(PLAIN).values()]}}
    openshift.compare.conclusion(play(answers=applied))
    with pytest.raises(UserError, match=r"spec\.template\.spec\.runtimeClass"):
        openshift.compare.conclusion(play(policy, applied))


def test_pods_that_do_not_come_are_an_error_with_the_reason_of_the_cluster() -> None:
    ready = {"openshift__set": items(standing()), "openshift__pods": items(pod(0), pod(1))}
    assert openshift.judge.conclusion(play(answers=ready)).failure is None
    with pytest.raises(UserError, match=REASON):
        openshift.judge.conclusion(play(answers={**ready, "openshift__pods": items(pod(0), pod(1, False))}))


def test_what_is_removed() -> None:
    for volumes in (False, True):
        planned = result(openshift.removal, play(FULL, verb="teardown", volumes=volumes))
        kinds = [item["kind"] for item in planned["objects"]]
        assert kinds[:2] == ["StatefulSet", "Service"]
        assert not {"Namespace", "PersistentVolumeClaim"} & {*kinds}
        assert planned["volumes"] is volumes


def busy(known: Play) -> Play:
    """Return a play with two nodes, on one of which a run is active."""

    def answer(host: str, name: str) -> Any:
        if host == "localhost":
            return known.read_answer(host, name)
        run = {"run_id": RUN_ID, "created": None, "phase": "running", "alive": host == "n0"}
        return {**info(host, "running")["launch__info"], "runs": [run]}

    return dataclasses.replace(known, groups={"nodes": ["n0", "n1"]}, read_answer=answer)


def test_pods_with_an_active_run_stay() -> None:
    with pytest.raises(UserError, match="n0: a run is active"):
        openshift.removal.conclusion(busy(play(verb="teardown", volumes=False)))


def test_a_setup_replaces_no_pod_with_an_active_run() -> None:
    answers = {"openshift__standing": items(standing())}
    assert result(openshift.plan, play(answers=answers))["tries"] is False
    assert result(openshift.plan, busy(play()))["tries"] is False  # nothing stands
    assert result(openshift.plan, busy(play(answers=answers)))["tries"] is True
    same = {**answers, "openshift__trial": {"result": standing()}}
    openshift.guard.conclusion(busy(play(answers=same)))
    changed = {**answers, "openshift__trial": {"result": standing(env={"LEVEL": "2"})}}
    with pytest.raises(UserError, match=r"n0: a run is active.*spec\.template\..*env\[LEVEL\] changes"):
        openshift.guard.conclusion(busy(play(answers=changed)))
    policy = {**PLAIN, "openshift_volume_size": "200Gi", "openshift_recreate": True}
    with pytest.raises(UserError, match="n0: a run is active"):
        openshift.plan.conclusion(busy(play(policy, answers)))


@pytest.mark.parametrize(
    ("verb", "has_pods", "is_of_nodes", "expected"),
    [
        ("setup", True, True, []),
        ("setup", False, False, []),
        ("teardown", False, False, []),
        ("setup", False, True, ["group_vars/all.yml"]),
        ("scale", False, False, ["a cluster of pods"]),
    ],
)
def test_why_a_controller_has_no_pods(verb: str, has_pods: bool, is_of_nodes: bool, expected: list[str]) -> None:
    problems = openshift.pod_problems(verb, has_pods, is_of_nodes)
    assert [part in problem for part, problem in zip(expected, problems, strict=True)] == [True] * len(expected)


def test_a_controller_without_the_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    for collection in ("ansible_collections.muster.none", "no.such.package"):
        monkeypatch.setattr(openshift, "COLLECTION", collection)
        (problem,) = openshift.pod_problems("setup", has_pods=True, is_of_nodes=True)
        assert "ansible-galaxy collection install kubernetes.core" in problem


def scaled(former: int, replicas: int, *pods: dict[str, Any]) -> tuple[Any, Any]:
    """Return what is decided and reported after a scale."""
    wanted = {"openshift__plan": {"former": former, "replicas": replicas}}
    answers = {**wanted, "openshift__set": items(standing(replicas)), "openshift__pods": items(*pods)}
    outcome = result(scale.judge, play(answers=answers, verb="scale"))
    return outcome, scale.report.conclusion(play(answers={**answers, "openshift__outcome": outcome}, verb="scale"))


def test_a_scale_that_succeeds() -> None:
    for former, replicas, pods in ((0, 2, [pod(0), pod(1)]), (2, 0, []), (2, 2, [pod(0), pod(1)])):
        outcome, conclusion = scaled(former, replicas, *pods)
        assert (outcome, conclusion.failure) == ({"restored": None, "why": None}, None)
        assert (conclusion.document["replicas"], len(conclusion.document["pods"])) == (replicas, replicas)


def test_a_scale_that_the_cluster_refuses_is_undone() -> None:
    outcome, conclusion = scaled(2, 3, pod(0), pod(1), pod(2, False))
    assert outcome["restored"] == 2
    assert REASON in str(conclusion.failure)
    assert (conclusion.document["former"], conclusion.document["replicas"]) == (2, 2)


def test_a_pod_that_does_not_go_is_an_error_without_a_way_back() -> None:
    outcome, conclusion = scaled(2, 1, pod(0), pod(1))
    assert (outcome["restored"], conclusion.failure is None) == (None, False)


def test_what_is_scaled_has_to_exist() -> None:
    with pytest.raises(UserError, match="setup"):
        scale.plan.conclusion(play(verb="scale", replicas=2))
    known = play(answers={"openshift__standing": items(standing(5))}, verb="scale", replicas=2)
    assert result(scale.plan, known) == {"replicas": 2, "former": 5}
