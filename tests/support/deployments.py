# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments of pods: policies and their objects."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._pods.manifest import make_objects
from ansible_collections.muster.train.plugins.plugin_utils._pods.policy import Policy, read_policy

PLAIN = {"openshift_image": "registry.example/train:1", "openshift_namespace": "lab"}
RAILS = ["openshift.io/rail0", "openshift.io/rail1"]
RDMA = {**PLAIN, "openshift_rdma_resources": RAILS, "openshift_networks": ["rail0", "rail1"], "openshift_gpus": 4}
# A deployment that uses everything.
FULL = {
    **RDMA,
    "openshift_create_namespace": True,
    "openshift_scc": True,
    "openshift_pull_secrets": ["registry"],
    "openshift_init": "tini",
    "openshift_env": {"HF_HOME": "/workspace/.cache", "LEVEL": 2},
    "openshift_limits": {"memory": "1200Gi", "cpu": 64},
    "openshift_requests": {"memory": "128Gi", "cpu": "1500m"},
    "openshift_shm_size": "32Gi",
    "openshift_storage_class": "fast",
    "openshift_volumes": [{"name": "data", "hostPath": {"path": "/data"}}],
    "openshift_volume_mounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    "openshift_nodes": ["gpu1", "gpu2"],
    "openshift_node_selector": {"nvidia.com/gpu.product": "H100"},
    "openshift_tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "openshift_capabilities": ["SYS_PTRACE"],
    "openshift_run_as_user": 0,
    "openshift_pod_options": {"priorityClassName": "training"},
}


def policy_of(base: dict[str, Any], **changes: Any) -> Policy:
    """Return a policy, with changes by the names of its fields."""
    return read_policy({**base, **{f"openshift_{name}": value for name, value in changes.items()}})


def objects_of(base: dict[str, Any], **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the objects of a deployment by their kind."""
    return {item["kind"]: item for item in make_objects(policy_of(base, **changes), 60)}


def pod_spec(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return what each pod of a deployment is asked to be."""
    spec: dict[str, Any] = objects_of(base, **changes)["StatefulSet"]["spec"]["template"]["spec"]
    return spec
