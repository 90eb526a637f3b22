# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that the verbs deploy, scale and remove, on a real API server with two kubelets, by a user of one namespace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents, k8s_lab
from ansible_collections.muster.train.tests.support.deployed_pods import NAME, VOLUME, DeployedPods
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = [
    pytest.mark.k8s,
    pytest.mark.skipif(k8s_lab.missing() is not None, reason=str(k8s_lab.missing())),
]

PODS = [f"{NAME}-0", f"{NAME}-1"]
CLAIMS = [f"workspace-{pod}" for pod in PODS]
WITH_ERRORS = 2


@pytest.fixture
def pods(lab: k8s_lab.Lab, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[DeployedPods]:
    """A namespace of this test with the user who deploys, and nothing else."""
    namespace = re.sub("[^a-z0-9]+", "-", request.node.name)[:40].strip("-")
    pods = DeployedPods(tmp_path, lab=lab, namespace=namespace)
    pods.prepare()
    yield pods
    # The nodes have devices for one deployment.
    lab.kubectl("delete", "namespace", namespace, "--grace-period=1", "--timeout=200s", timeout=220)


def test_deploy_scale_and_remove(pods: DeployedPods) -> None:
    checked = pods.deploy_only("--check", "--diff")
    assert (checked.rc, pods.names_of("statefulsets")) == (0, []), checked.out

    first = pods.deploy_only()
    assert first.rc == 0, first.out
    assert pods.ready() == PODS
    again = pods.deploy_only("-v")
    assert (again.rc, again.changed.get("localhost")) == (0, 0), again.out

    pods.inside(PODS[1], "sh", "-c", f"echo kept >{VOLUME}/note")
    for replicas in (0, 2):
        scaled = pods.verb("scale", replicas=replicas)
        assert (scaled.rc, len(pods.ready())) == (0, replicas), scaled.out
    assert pods.inside(PODS[1], "cat", f"{VOLUME}/note") == "kept\n"
    assert pods.deploy_only().rc == 0

    before = {item["metadata"]["uid"] for item in pods.objects("pods")}
    wanted = json.dumps({"replicas": 3, "output": "json"})
    refused = pods.play("playbooks/scale.yml", "-e", wanted, apart=True)
    document = json.loads(refused.out)
    assert (refused.rc, documents.errors(document)) == (WITH_ERRORS, []), refused.out
    assert "Unschedulable" in document["errors"][0]["message"]
    assert (document["former"], document["replicas"], pods.replicas()) == (2, 2, 2)
    wait_for(lambda: pods.names_of("pods") == PODS, "the third pod is gone")
    assert {item["metadata"]["uid"] for item in pods.objects("pods")} == before

    claims = pods.names_of("persistentvolumeclaims")
    assert {*CLAIMS} <= {*claims}
    remove(pods)
    assert pods.names_of("persistentvolumeclaims") == claims
    remove(pods, volumes=True)
    wait_for(lambda: pods.names_of("persistentvolumeclaims") == [], "the volumes are gone")


def remove(pods: DeployedPods, **parameters: Any) -> None:
    removed = pods.verb("teardown", **parameters)
    assert removed.rc == 0, removed.out
    assert [pods.names_of(kind) for kind in ("statefulsets", "services", "pods")] == [[], [], []]


def uids(pods: DeployedPods, kind: str) -> set[str]:
    return {item["metadata"]["uid"] for item in pods.objects(kind)}


def test_changed_volumes_are_refused_and_created_anew_where_asked_for(pods: DeployedPods) -> None:
    pods.change(replicas=1)
    assert pods.deploy_only().rc == 0
    running, stateful_set = uids(pods, "pods"), uids(pods, "statefulsets")

    pods.change(volume_size="2Gi")
    refused = pods.deploy_only()
    assert refused.rc == WITH_ERRORS, refused.out
    assert "openshift_recreate" in refused.words
    assert uids(pods, "statefulsets") == stateful_set

    pods.change(recreate=True)
    recreated = pods.deploy_only()
    assert recreated.rc == 0, recreated.out
    assert uids(pods, "pods") == running
    assert uids(pods, "statefulsets") != stateful_set
    again = pods.deploy_only("-v")
    assert (again.rc, again.changed.get("localhost")) == (0, 0), again.out


def test_what_the_policy_no_longer_has_goes_from_the_pods(pods: DeployedPods) -> None:
    pods.change(replicas=1, env={"LEVEL": "2"}, gpus=1, node_selector={"kubernetes.io/os": "linux"})
    assert pods.deploy_only().rc == 0
    pods.change(env={}, gpus=0, node_selector={})
    changed = pods.deploy_only()
    assert changed.rc == 0, changed.out
    (pod,) = pods.objects("pods")
    container = pod["spec"]["containers"][0]
    assert [variable["name"] for variable in container["env"]] == ["POD_IP"]
    assert (container["resources"], pod["spec"].get("nodeSelector")) == ({}, None)


def test_a_field_that_the_server_drops_is_named(pods: DeployedPods) -> None:
    pods.change(replicas=0, pod_options={"runtimeClass": "nvidia"})
    refused = pods.deploy_only()
    assert refused.rc == WITH_ERRORS, refused.out
    assert "spec.template.spec.runtimeClass" in refused.words


QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}


@pytest.mark.parametrize(
    ("deployment", "quota", "reason"),
    [
        ({"image": "docker.io/muster/absent:1"}, False, "ErrImageNeverPull"),
        ({"storage_class": "absent"}, False, "claim workspace-trainer-0: ProvisioningFailed"),
        ({"gpus": 9}, False, "Insufficient nvidia.com/gpu"),
        ({}, True, "exceeded quota"),
    ],
    ids=["image", "volume", "devices", "quota"],
)
def test_the_reason_why_pods_do_not_come(
    pods: DeployedPods, deployment: dict[str, Any], quota: bool, reason: str
) -> None:
    if quota:
        pods.lab.apply({**QUOTA, "metadata": {"name": "few", "namespace": pods.namespace}})
    pods.change(**deployment)
    refused = pods.deploy_only()
    assert refused.rc == WITH_ERRORS, refused.out
    assert reason in refused.words


# Ends half a second after it was asked to, and says so on the volume.
RUNNER = f"""
import pathlib, signal, sys, time
def end(*_):
    time.sleep(0.5)
    pathlib.Path("{VOLUME}/ended").write_text("in order")
    sys.exit()
signal.signal(signal.SIGTERM, end)
pathlib.Path("{VOLUME}/begun").touch()
while True:
    time.sleep(0.1)
"""


def test_a_pod_that_goes_stops_its_runs_first(pods: DeployedPods) -> None:
    pods.change(replicas=1)
    assert pods.deploy_only().rc == 0
    pods.inside(PODS[0], "python3", "-c", f"open('/tmp/runner.pyz', 'w').write({RUNNER!r})")
    pods.inside(PODS[0], "sh", "-c", "setsid python3 /tmp/runner.pyz >/dev/null 2>&1 &")
    folder = pods.lab.base / "volumes" / pods.namespace / CLAIMS[0]
    wait_for((folder / "begun").exists, "the runner runs")
    assert pods.verb("scale", replicas=0).rc == 0
    assert (folder / "ended").read_text() == "in order"
