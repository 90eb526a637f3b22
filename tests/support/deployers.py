# SPDX-License-Identifier: GPL-3.0-or-later
"""The user of a cluster who may do in one namespace what the verbs need, and no more (docs/openshift-deploy.md)."""

from __future__ import annotations

from typing import Any

GROUP = "rbac.authorization.k8s.io"
# API group, resources and verbs.
RULES: list[tuple[str, list[str], list[str]]] = [
    ("apps", ["statefulsets"], ["get", "list", "create", "patch", "delete"]),
    ("apps", ["statefulsets/scale"], ["get", "patch"]),
    ("", ["pods"], ["get", "list"]),
    ("", ["pods/exec"], ["create"]),
    ("", ["events"], ["list"]),
    ("", ["services", "serviceaccounts"], ["get", "create", "patch", "delete"]),
    ("", ["persistentvolumeclaims"], ["get", "list", "delete"]),
]


def objects(namespace: str, name: str) -> list[dict[str, Any]]:
    """Return the namespace, a service account in it, and what it may do there."""
    meta = {"name": name, "namespace": namespace}
    rules = [{"apiGroups": [group], "resources": kinds, "verbs": verbs} for group, kinds, verbs in RULES]
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
            "subjects": [subject],
        },
    ]
