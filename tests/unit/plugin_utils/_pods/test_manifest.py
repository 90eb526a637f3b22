# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a deployment."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._pods.policy import read_policy
from ansible_collections.muster.train.tests.support.deployments import (
    FULL,
    PLAIN,
    RAILS,
    RDMA,
    objects_of,
    pod_spec,
)

NETWORKS = "k8s.v1.cni.cncf.io/networks"
# OpenShift's own, of which Kubernetes has no schema.
OF_OPENSHIFT = "SecurityContextConstraints"
SCHEMAS: Any = importlib.import_module("kubernetes_validate")


def container(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    containers: list[dict[str, Any]] = pod_spec(base, **changes)["containers"]
    return containers[0]


def mounts(base: dict[str, Any], **changes: Any) -> dict[str, str]:
    return {mount["mountPath"]: mount["name"] for mount in container(base, **changes)["volumeMounts"]}


@pytest.mark.parametrize("base", [PLAIN, RDMA, FULL], ids=["plain", "rdma", "full"])
@pytest.mark.parametrize("volume", ["pod", "shared", "none"])
@pytest.mark.parametrize("version", ["1.28", "1.37"])
def test_every_object_is_valid(base: dict[str, Any], volume: str, version: str) -> None:
    """With strict=True a field that Kubernetes does not know is an error."""
    for kind, item in objects_of(base, volume=volume).items():
        if kind != OF_OPENSHIFT:
            SCHEMAS.validate(item, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_not_valid() -> None:
    item = objects_of(PLAIN, pod_options={"runtimeClass": "nvidia"})["StatefulSet"]
    with pytest.raises(SCHEMAS.ValidationError):
        SCHEMAS.validate(item, "1.37", strict=True)


def test_the_kinds_in_the_order_in_which_they_are_needed() -> None:
    assert list(objects_of(PLAIN)) == ["ServiceAccount", "Service", "StatefulSet"]
    security = [OF_OPENSHIFT, "Role", "RoleBinding"]
    assert list(objects_of(FULL)) == ["Namespace", "ServiceAccount", *security, "Service", "StatefulSet"]
    assert "ServiceAccount" not in objects_of(PLAIN, service_account="existing")


def test_the_service_finds_pods_that_are_not_ready() -> None:
    objects = objects_of(PLAIN)
    service, pods = objects["Service"]["spec"], objects["StatefulSet"]["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    assert service["selector"] == pods["selector"]["matchLabels"] == pods["template"]["metadata"]["labels"]
    assert (pods["serviceName"], pods["podManagementPolicy"]) == ("muster", "Parallel")
    assert "replicas" not in pods


def test_a_volume_for_each_pod_or_one_for_all() -> None:
    per_pod, shared = objects_of(PLAIN), objects_of(PLAIN, volume="shared")
    (claim,) = per_pod["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Gi"}}}
    assert shared["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "volumeClaimTemplates" not in shared["StatefulSet"]["spec"]
    assert "PersistentVolumeClaim" not in objects_of(PLAIN, volume="shared", volume_claim="data")
    assert mounts(PLAIN) == mounts(PLAIN, volume="shared") == {"/dev/shm": "dshm", "/workspace": "workspace"}
    assert mounts(PLAIN, volume="none") == {"/dev/shm": "dshm"}
    assert mounts(FULL)["/data"] == "data"


def test_dev_shm_is_memory() -> None:
    assert {"name": "dshm", "emptyDir": {"medium": "Memory"}} in pod_spec(PLAIN)["volumes"]
    assert {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}} in pod_spec(FULL)["volumes"]


def test_devices_and_networks_depend_on_the_mode() -> None:
    devices = {"nvidia.com/gpu": "4", **dict.fromkeys(RAILS, "1")}
    for mode in ("auto", "rdma"):
        assert container(RDMA, mode=mode)["resources"] == {"limits": devices, "requests": devices}
        template = objects_of(RDMA, mode=mode)["StatefulSet"]["spec"]["template"]
        assert template["metadata"]["annotations"] == {NETWORKS: "rail0,rail1"}
    assert container(RDMA, mode="tcp")["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert "annotations" not in objects_of(RDMA, mode="tcp")["StatefulSet"]["spec"]["template"]["metadata"]
    assert container(PLAIN)["resources"] == {}


def test_the_container_may_lock_memory_and_no_more() -> None:
    assert container(PLAIN)["securityContext"] == {"privileged": False, "capabilities": {"add": ["IPC_LOCK"]}}
    assert container(PLAIN, ipc_lock=False)["securityContext"] == {"privileged": False}
    assert container(PLAIN, privileged=True)["securityContext"] == {"privileged": True}
    scc = objects_of(PLAIN, scc=True)[OF_OPENSHIFT]
    assert (scc["allowedCapabilities"], scc["allowPrivilegedContainer"]) == (["IPC_LOCK"], False)
    assert (scc["allowHostDirVolumePlugin"], scc["runAsUser"]) == (False, {"type": "MustRunAsRange"})
    full = objects_of(FULL)
    assert full[OF_OPENSHIFT]["allowedCapabilities"] == ["IPC_LOCK", "SYS_PTRACE"]
    assert full[OF_OPENSHIFT]["allowHostDirVolumePlugin"] is True
    assert full[OF_OPENSHIFT]["runAsUser"] == {"type": "MustRunAs", "uid": 0}
    (rule,) = full["Role"]["rules"]
    assert rule["resourceNames"] == [full[OF_OPENSHIFT]["metadata"]["name"]]
    assert full["RoleBinding"]["subjects"][0]["name"] == full["ServiceAccount"]["metadata"]["name"]


def test_zombies_are_reaped_by_an_init() -> None:
    assert (pod_spec(PLAIN)["shareProcessNamespace"], container(PLAIN)["command"]) == (True, ["sleep", "infinity"])
    tini = container(PLAIN, init="tini", command=["sleep", "1d"])["command"]
    assert (pod_spec(PLAIN, init="tini")["shareProcessNamespace"], tini) == (False, ["tini", "--", "sleep", "1d"])
    assert "command" not in container(PLAIN, init="image")


def test_a_stop_has_time_to_end_the_ranks() -> None:
    assert pod_spec(PLAIN)["terminationGracePeriodSeconds"] > 60
    assert "runner[.]pyz" in container(PLAIN)["lifecycle"]["preStop"]["exec"]["command"][2]


def test_where_the_pods_may_be() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = pod_spec(FULL)["affinity"]
    (term,) = affinity["nodeAffinity"][required]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["gpu1", "gpu2"]
    assert affinity["podAntiAffinity"][required][0]["topologyKey"] == "kubernetes.io/hostname"
    assert "affinity" not in pod_spec(PLAIN, one_per_node=False)
    assert pod_spec(FULL)["nodeSelector"] == FULL["openshift_node_selector"]


def test_the_environment_has_the_address_of_the_pod() -> None:
    address, *others = container(FULL)["env"]
    assert address["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert others == [{"name": "HF_HOME", "value": "/workspace/.cache"}, {"name": "LEVEL", "value": "2"}]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"image": ""}, ["image"]),
        ({"namespace": "Lab", "name": "x" * 48}, ["name", "namespace"]),
        ({"mode": "ib", "replicas": "two"}, ["replicas", "mode"]),
        ({"replicas": -1}, ["replicas"]),
        ({"mode": "rdma"}, ["rdma_resources"]),
        ({"nodes": {"gpu1": 1}, "run_as_user": "root"}, ["nodes", "run_as_user"]),
    ],
)
def test_all_mistakes_at_once(changes: dict[str, Any], names: list[str]) -> None:
    with pytest.raises(UserError) as error:
        read_policy({**PLAIN, **{f"openshift_{name}": value for name, value in changes.items()}})
    assert [line.partition(":")[0].removeprefix("openshift_") for line in str(error.value).splitlines()] == names
