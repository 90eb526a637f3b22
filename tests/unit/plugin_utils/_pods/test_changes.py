# SPDX-License-Identifier: GPL-3.0-or-later
"""How objects that stand differ from those that are asked for."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._pods.changes import differences, fixed_changes, patch_of
from ansible_collections.muster.train.tests.support.deployments import FULL, PLAIN, RDMA, objects_of


def stateful_set(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return copy.deepcopy(objects_of(base, **changes)["StatefulSet"])


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386, as the server applies a patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


@pytest.mark.parametrize(
    ("wanted", "observed", "paths"),
    [
        ({"a": 1}, {"a": 1, "added": 2}, []),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1]"]),
        ({"cpu": "1500m", "memory": "1Gi"}, {"cpu": "1.5", "memory": "1024Mi"}, []),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1G"}, ["cpu", "memory"]),
        ({"hostIPC": False, "empty": {}, "none": None}, {}, []),
        ({"hostIPC": True}, {}, ["hostIPC"]),
        ([{"name": "b", "value": 1}], [{"name": "a"}, {"name": "b", "value": 1}], []),
        ({"env": [{"name": "b", "value": 1}]}, {"env": [{"name": "a"}]}, ["env[b]"]),
        ({"add": ["IPC_LOCK"]}, {"add": ["CHOWN", "IPC_LOCK"]}, []),
        ({"a": "x"}, {"a": ["x"]}, ["a"]),
    ],
)
def test_only_what_is_missing_or_other_is_a_difference(wanted: Any, observed: Any, paths: list[str]) -> None:
    assert [difference.path for difference in differences(wanted, observed)] == paths


def test_what_a_stateful_set_cannot_change() -> None:
    standing = stateful_set(PLAIN)
    assert fixed_changes(stateful_set(PLAIN, image="registry.example/train:2"), standing) == []
    assert [change.path for change in fixed_changes(stateful_set(PLAIN, volume_size="200Gi"), standing)] == [
        "spec.volumeClaimTemplates[0].spec.resources.requests.storage"
    ]
    for changes in ({"volume": "none"}, {"storage_class": "fast"}):
        assert len(fixed_changes(stateful_set(PLAIN, **changes), standing)) == 1
        assert len(fixed_changes(standing, stateful_set(PLAIN, **changes))) == 1


def test_a_patch_removes_what_is_no_longer_asked_for() -> None:
    for before, after in ((FULL, PLAIN), (RDMA, {**RDMA, "openshift_mode": "tcp"}), (PLAIN, FULL)):
        standing, wanted = stateful_set(before), stateful_set(after)
        standing["spec"]["replicas"] = 6
        patched = merge(standing, patch_of(wanted, standing))
        assert patched["spec"].pop("replicas") == 6
        patched["spec"]["template"]["metadata"] = {
            name: value for name, value in patched["spec"]["template"]["metadata"].items() if value
        }
        assert patched["spec"]["template"] == wanted["spec"]["template"]


def test_a_patch_keeps_the_annotations_of_others() -> None:
    standing = stateful_set(RDMA)
    annotations = standing["spec"]["template"]["metadata"]["annotations"]
    annotations["kubectl.kubernetes.io/restartedAt"] = "2026-11-30T14:00:00Z"
    for policy, names in ((RDMA, set(annotations)), (PLAIN, {"kubectl.kubernetes.io/restartedAt"})):
        patched = merge(standing, patch_of(stateful_set(policy), standing))
        assert set(patched["spec"]["template"]["metadata"]["annotations"]) == names
