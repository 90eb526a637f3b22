# SPDX-License-Identifier: GPL-3.0-or-later
"""StatefulSets and pods as the API server has them, for unit tests."""

from __future__ import annotations

import json
from typing import Any


def statefulset(name: str = "trainer", replicas: int = 2, **spec: Any) -> dict[str, Any]:
    """Return a StatefulSet whose service has its name."""
    meta = {"name": name, "namespace": "training", "uid": f"uid-{name}"}
    return {"kind": "StatefulSet", "metadata": meta, "spec": {"replicas": replicas, "serviceName": name, **spec}}


def pod(name: str, owner: str = "trainer", **changes: Any) -> dict[str, Any]:
    """Return a running pod of a StatefulSet; changes are parts of its metadata and of its status."""
    owners = [{"kind": "StatefulSet", "controller": True, "name": owner, "uid": f"uid-{owner}"}]
    meta = {"name": name, "namespace": "training", "ownerReferences": owners}
    status = {
        "phase": "Running",
        "podIPs": [{"ip": "10.244.0.11"}],
        "conditions": [{"type": "Ready", "status": "True"}],
        **{part: value for part, value in changes.items() if part not in ("annotations", "deletionTimestamp")},
    }
    meta |= {part: value for part, value in changes.items() if part in ("annotations", "deletionTimestamp")}
    return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": "gpu1"}, "status": status}


def waiting(reason: str, message: str) -> dict[str, Any]:
    """Return the parts of a pod's status whose container waits."""
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "conditions": [], "containerStatuses": [{"name": "trainer", "state": state}]}


def unscheduled(message: str) -> dict[str, Any]:
    """Return the parts of the status of a pod that no node can take."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "podIPs": [], "conditions": [condition]}


def listing(*items: dict[str, Any]) -> str:
    """Return objects as `kubectl get --output=json` prints them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
