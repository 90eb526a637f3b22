# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the hosts that a StatefulSet is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.command_end import CommandEnd
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._pods.command import Client
from ansible_collections.muster.train.plugins.plugin_utils._pods.hosts import PodHosts, find_hosts
from ansible_collections.muster.train.tests.support.pod_objects import listing, pod, statefulset, unscheduled, waiting

TWO = [statefulset(), pod("trainer-0"), pod("trainer-1")]
# What the namespace has besides a StatefulSet without pods that run.
OBSTACLES: dict[str, list[dict[str, Any]]] = {
    "a pod that does not exist": [],
    "a pod that is deleted": [pod("trainer-0", deletionTimestamp="2026-11-20T14:30:52Z")],
    "an image that cannot be pulled": [pod("trainer-0", **waiting("ErrImagePull", "not found"))],
    "a pod that no node can take": [pod("trainer-0", **unscheduled("0/2 nodes are available: 2 Insufficient gpu."))],
    "a pod that was evicted": [pod("trainer-0", phase="Failed", reason="Evicted", message="low on memory")],
    "a pod without a reason": [pod("trainer-0", phase="Pending")],
    "a container that ends again and again": [
        pod("trainer-0", **{**waiting("CrashLoopBackOff", "back-off 5m0s restarting"), "phase": "Running"})
    ],
}
WITHOUT_HOSTS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "an empty namespace": ([], ""),
    "another StatefulSet": ([statefulset("web")], "trainer"),
    "no replicas": ([statefulset(replicas=0)], ""),
}


@dataclass
class Answer:
    """How kubectl ended."""

    out: str = ""
    rc: int | None = 0
    missing: bool = False

    def why(self, timeout_s: float) -> str:
        return "Unable to connect to the server: dial tcp 192.0.2.1:6443: i/o timeout"


def hosts(
    *items: dict[str, Any], client: Client | None = None, statefulset: str = "", answer: Answer | None = None
) -> PodHosts:
    def run(argv: Sequence[str], timeout_s: float) -> CommandEnd:
        return answer or Answer(listing(*items))

    return find_hosts(client or Client(namespace="training"), statefulset, "", run)


def test_a_pod_that_is_not_ready_runs_all_the_same() -> None:
    probe = [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]
    assert hosts(statefulset(), pod("trainer-0", conditions=probe), pod("trainer-1")).warnings == []


def test_pods_are_hosts_by_their_ordinal_as_a_number() -> None:
    names = [f"trainer-{number}" for number in range(12)]
    made = hosts(statefulset(replicas=12), *map(pod, sorted(names)))
    assert list(made.hosts) == names
    assert made.warnings == []


def test_variables_of_a_pod_and_of_all() -> None:
    made = hosts(*TWO)
    assert made.variables == {
        "ansible_connection": "kubernetes.core.kubectl",
        "ansible_kubectl_namespace": "training",
        "ansible_remote_tmp": "/tmp/.ansible",
        "launch_head_address": "trainer-0.trainer.training.svc",
    }
    assert made.hosts["trainer-1"] == {
        "ansible_kubectl_pod": "trainer-1",
        "ansible_host": "trainer-1.trainer.training.svc",
        "pod_ready": True,
        "pod_phase": "Running",
        "pod_node": "gpu1",
        "pod_addresses": ["10.244.0.11"],
        "pod_networks": [],
    }


def test_oc_has_variables_of_its_own() -> None:
    made = hosts(*TWO, client=Client("oc", "/home/me/config", "prod", ""))
    assert made.variables["ansible_connection"] == "community.okd.oc"
    assert {name for name in made.variables if "kubectl" in name} == set()
    assert (made.variables["ansible_oc_kubeconfig"], made.variables["ansible_oc_context"]) == (
        *("/home/me/config", "prod"),
    )


def test_without_a_service_there_is_no_name() -> None:
    made = hosts(statefulset(serviceName=""), pod("trainer-0"), pod("trainer-1"))
    assert ("launch_head_address" in made.variables, "ansible_host" in made.hosts["trainer-0"]) == (False, False)


def test_of_two_statefulsets_one_is_named() -> None:
    others = [statefulset("web"), pod("web-0", owner="web")]
    assert list(hosts(*TWO, *others, statefulset="trainer").hosts) == ["trainer-0", "trainer-1"]
    with pytest.raises(UserError):
        hosts(*TWO, *others)


@pytest.mark.parametrize("case", OBSTACLES)
def test_a_pod_that_does_not_run_keeps_its_place(case: str) -> None:
    made = hosts(statefulset(), *OBSTACLES[case], pod("trainer-1"))
    assert list(made.hosts) == ["trainer-0", "trainer-1"]
    assert len(made.warnings) == 1
    assert made.note is None


@pytest.mark.parametrize("case", WITHOUT_HOSTS)
def test_no_hosts_and_why(case: str) -> None:
    items, name = WITHOUT_HOSTS[case]
    made = hosts(*items, statefulset=name)
    assert (made.hosts, made.variables, bool(made.note)) == ({}, {}, True)


@pytest.mark.parametrize("answer", [Answer(rc=1), Answer(rc=None, missing=True)])
def test_a_client_that_fails(answer: Answer) -> None:
    with pytest.raises(UserError):
        hosts(answer=answer)
