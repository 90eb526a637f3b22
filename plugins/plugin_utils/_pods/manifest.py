# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a deployment: a policy as data in, what Kubernetes is asked for out.

Without the number of pods, which only a new StatefulSet gets, so that deploying again does not undo a scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .policy import IMAGE, NONE, PAUSE, PER_POD, TINI, Policy
from .security import security_context, security_objects

NAME_LABEL, MANAGER_LABEL, MANAGER = "app.kubernetes.io/name", "app.kubernetes.io/managed-by", "muster"
NETWORKS = "k8s.v1.cni.cncf.io/networks"  # of Multus
HOST_NAME = "kubernetes.io/hostname"
WORKSPACE, SHM = "workspace", "dshm"
# Seconds that a pod has besides those that a stop gives the ranks: the runner writes its verdict then.
END_S = 30
# The main process ends with the pod, and the kubelet kills the others with it. So the runners stop their ranks before.
# The brackets keep this command from finding itself.
STOP_RUNNERS = """\
runners() {
  for process in /proc/[0-9]*; do
    case "$(tr '\\0' ' ' <"$process/cmdline" 2>/dev/null)" in *runner[.]pyz*) echo "${process#/proc/}" ;; esac
  done
}
for process in $(runners); do kill -TERM "$process" 2>/dev/null; done
while [ -n "$(runners)" ]; do sleep 1; done"""


def labels_of(policy: Policy) -> dict[str, str]:
    """Return the labels by which the service and the StatefulSet find their pods."""
    return {NAME_LABEL: policy.name, MANAGER_LABEL: MANAGER}


def shared_claim(policy: Policy) -> str:
    """Return the name of the claim that all pods mount."""
    return policy.volume_claim or f"{policy.name}-{WORKSPACE}"


def make_objects(policy: Policy, stop_grace_s: int) -> list[dict[str, Any]]:
    """Return the objects in the order in which they are needed; stop_grace_s is what a stop gives the ranks."""
    metadata = {"name": policy.namespace, "labels": {MANAGER_LABEL: MANAGER}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(policy, policy.account)}
    return [
        *([namespace] if policy.create_namespace else []),
        *([] if policy.service_account else [{**account, "automountServiceAccountToken": False}]),
        *security_objects(policy, labels_of(policy)),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(policy),
            # A pod finds the others by name before it is ready.
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels_of(policy)},
        },
        *_claims_of_all(policy),
        _stateful_set(policy, stop_grace_s),
    ]


def _metadata(policy: Policy, name: str | None = None) -> dict[str, Any]:
    return {"name": name or policy.name, "namespace": policy.namespace, "labels": labels_of(policy)}


def _claims_of_all(policy: Policy) -> list[dict[str, Any]]:
    """Return the claim of the volume that all pods share, unless it is given."""
    if policy.volume in (PER_POD, NONE) or policy.volume_claim:
        return []
    metadata, spec = _metadata(policy, shared_claim(policy)), _claim_spec(policy, "ReadWriteMany")
    return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}]


def _claim_spec(policy: Policy, access: str) -> dict[str, Any]:
    return {
        "accessModes": [access],
        "resources": {"requests": {"storage": policy.volume_size}},
        **({"storageClassName": policy.storage_class} if policy.storage_class else {}),
    }


def _stateful_set(policy: Policy, stop_grace_s: int) -> dict[str, Any]:
    annotations = {NETWORKS: ",".join(policy.networks)} if policy.is_rdma and policy.networks else {}
    claim = {"metadata": {"name": WORKSPACE}, "spec": _claim_spec(policy, "ReadWriteOnce")}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _metadata(policy),
        "spec": {
            "serviceName": policy.name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels_of(policy)},
            "template": {
                "metadata": {"labels": labels_of(policy), **({"annotations": annotations} if annotations else {})},
                "spec": _pod(policy, stop_grace_s),
            },
            **({"volumeClaimTemplates": [claim]} if policy.volume == PER_POD else {}),
        },
    }


def _pod(policy: Policy, stop_grace_s: int) -> dict[str, Any]:
    shm = {"medium": "Memory", **({"sizeLimit": policy.shm_size} if policy.shm_size else {})}
    user = {"runAsUser": int(policy.run_as_user)} if policy.run_as_user else {}
    known: dict[str, Any] = {
        "serviceAccountName": policy.account,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": stop_grace_s + END_S,
        # Whatever a rank leaves behind is reaped by a process that waits for it.
        "shareProcessNamespace": policy.init == PAUSE,
        "containers": [_container(policy)],
        "volumes": [
            {"name": SHM, "emptyDir": shm},
            *(
                [{"name": WORKSPACE, "persistentVolumeClaim": {"claimName": shared_claim(policy)}}]
                if policy.volume not in (PER_POD, NONE)
                else []
            ),
            *policy.volumes,
        ],
        "affinity": _affinity(policy),
        "imagePullSecrets": [{"name": name} for name in policy.pull_secrets],
        "nodeSelector": dict(policy.node_selector),
        "tolerations": list(policy.tolerations),
        "securityContext": user,
    }
    return {**{name: value for name, value in known.items() if value not in ({}, [])}, **policy.pod_options}


def _affinity(policy: Policy) -> dict[str, Any]:
    """Return on which nodes the pods may be: those of the list, and no two on one."""
    terms = [{"matchExpressions": [{"key": HOST_NAME, "operator": "In", "values": list(policy.nodes)}]}]
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    apart = [{"labelSelector": {"matchLabels": labels_of(policy)}, "topologyKey": HOST_NAME}]
    pod = {"requiredDuringSchedulingIgnoredDuringExecution": apart}
    return {
        **({"nodeAffinity": node} if policy.nodes else {}),
        **({"podAntiAffinity": pod} if policy.one_per_node else {}),
    }


def _container(policy: Policy) -> dict[str, Any]:
    command = list(policy.command) or ([] if policy.init == IMAGE else ["sleep", "infinity"])
    devices = {policy.gpu_resource: policy.gpus} if policy.gpus else {}
    if policy.is_rdma:
        devices.update(dict.fromkeys(policy.rdma_resources, 1))
    resources = {
        "limits": _quantities({**policy.limits, **devices}),
        "requests": _quantities({**policy.requests, **devices}),
    }
    mount = {"name": WORKSPACE, "mountPath": policy.volume_path}
    return {
        "name": policy.container,
        "image": policy.image,
        "imagePullPolicy": policy.pull_policy,
        **({"command": [*(["tini", "--"] if policy.init == TINI else []), *command]} if command else {}),
        "env": [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            *({"name": str(name), "value": str(value)} for name, value in policy.env.items()),
        ],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", STOP_RUNNERS]}}},
        "securityContext": security_context(policy),
        "resources": {name: values for name, values in resources.items() if values},
        "volumeMounts": [
            {"name": SHM, "mountPath": "/dev/shm"},
            *([mount] if policy.volume != NONE else []),
            *policy.volume_mounts,
        ],
    }


def _quantities(values: Mapping[str, Any]) -> dict[str, str]:
    """Return amounts as Kubernetes writes them."""
    return {str(name): str(value) for name, value in values.items()}
