# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `pods_settled`: whether waiting longer for the pods of a StatefulSet is of no use."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

DOCUMENTATION = r"""
name: pods_settled
short_description: Whether the pods of a StatefulSet are as they will be
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - True where all pods of the StatefulSet's current revision are ready and no other one is left.
  - True as well where none moves after O(patience), because the scheduler, a quota or the kubelet refuses it. A pod
    that only needs time, such as one whose image is pulled, is waited for.
  - True after O(limit) in any case, so that the loop does not fail.
positional: _input
options:
  _input:
    description: What C(kubernetes.core.k8s_info) returned for the pods, in a loop with C(until).
    type: dict
    required: true
  stateful_set:
    description: The StatefulSet as the server has it.
    type: dict
    required: true
  patience:
    description: How long a refusal has to last, in seconds. At first a volume is not bound, for example.
    type: int
    default: 60
  limit:
    description: How long to wait at most, in seconds.
    type: int
    default: 1800
  delay:
    description: The C(delay) of the loop, in seconds.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Wait for the pods
  kubernetes.core.k8s_info:
    kind: Pod
    namespace: training
    label_selectors: [app.kubernetes.io/name=muster]
  register: pods
  until: pods | muster.train.pods_settled(stateful_set)
  retries: 901
  delay: 2
"""

RETURN = r"""
_value:
  description: Whether waiting longer is of no use.
  type: bool
"""


def pods_settled(answer: Any, stateful_set: Any, patience: Any = 60, limit: Any = 1800, delay: Any = 2) -> bool:
    """Judge the pods; see DOCUMENTATION."""
    # Using any filter imports all filter files, again in every worker, so they import late.
    from ansible_collections.muster.train.plugins.plugin_utils._pods.waiting import is_settled, judge_pods
    from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

    known, wanted = plain(answer), plain(stateful_set)
    replicas = int(wanted["spec"]["replicas"])
    revision = wanted.get("status", {}).get("updateRevision")
    state = judge_pods(known.get("resources"), wanted["metadata"]["name"], replicas, revision)
    waited_s = int(known.get("attempts") or 0) * int(delay)
    return waited_s >= int(limit) or is_settled(state, replicas, waited_s, int(patience), time.time())


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"pods_settled": pods_settled}
