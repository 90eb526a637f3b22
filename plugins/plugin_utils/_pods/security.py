# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pods may do, and on OpenShift the security context constraints (SCC) that allow just that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .policy import Policy

# RDMA registers memory, which the limit of a container (8 MiB) would refuse; the SR-IOV operator's guide adds no more.
IPC_LOCK = "IPC_LOCK"
# Those that a pod of a StatefulSet with a claim has; what the policy adds is allowed, too.
VOLUMES = ("configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret")
HOST_PATH = "hostPath"


def capabilities_of(policy: Policy) -> list[str]:
    """Return the capabilities that the container gets besides its default ones."""
    return [*([IPC_LOCK] if policy.ipc_lock else []), *policy.capabilities]


def security_context(policy: Policy) -> dict[str, Any]:
    """Return the container's security context."""
    if policy.privileged:
        return {"privileged": True}
    added = capabilities_of(policy)
    return {"privileged": False, **({"capabilities": {"add": added}} if added else {})}


def scc_name(policy: Policy) -> str:
    """Return the name of the SCC, which belongs to no namespace."""
    return f"{policy.namespace}-{policy.name}"


def security_objects(policy: Policy, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the SCC of the pods, the role that may use it and its binding to their service account; none without."""
    if not policy.scc:
        return []
    metadata = {"name": f"{policy.name}-scc", "namespace": policy.namespace, "labels": dict(labels)}
    group = "rbac.authorization.k8s.io"
    volumes = {*VOLUMES, *(kind for volume in policy.volumes for kind in volume if kind != "name")}
    user: dict[str, Any] = {"type": "MustRunAs", "uid": int(policy.run_as_user)} if policy.run_as_user else {}
    return [
        {
            "apiVersion": "security.openshift.io/v1",
            "kind": "SecurityContextConstraints",
            "metadata": {"name": scc_name(policy), "labels": dict(labels)},
            **dict.fromkeys(("allowHostIPC", "allowHostNetwork", "allowHostPID", "allowHostPorts"), False),
            "allowHostDirVolumePlugin": HOST_PATH in volumes,
            "allowPrivilegedContainer": policy.privileged,
            "allowPrivilegeEscalation": True,
            "allowedCapabilities": capabilities_of(policy),
            "defaultAddCapabilities": [],
            "requiredDropCapabilities": [],
            "readOnlyRootFilesystem": False,
            "fsGroup": {"type": "MustRunAs"},
            "runAsUser": user or {"type": "MustRunAsRange"},
            "seLinuxContext": {"type": "RunAsAny" if policy.privileged else "MustRunAs"},
            "supplementalGroups": {"type": "RunAsAny"},
            "users": [],
            "groups": [],
            "volumes": sorted(volumes),
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [
                {
                    "apiGroups": ["security.openshift.io"],
                    "resources": ["securitycontextconstraints"],
                    "resourceNames": [scc_name(policy)],
                    "verbs": ["use"],
                }
            ],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": policy.account, "namespace": policy.namespace}],
        },
    ]
