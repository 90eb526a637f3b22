# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of pods: tests/screens/messages/pods.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._pods.command import Client
from ansible_collections.muster.train.tests.support.pod_objects import pod, statefulset
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of, refusal
from ansible_collections.muster.train.tests.unit.plugin_utils._pods import test_hosts


def messages() -> Iterator[Message]:
    for name, items in test_hosts.OBSTACLES.items():
        yield name, test_hosts.hosts(statefulset(), *items, pod("trainer-1")).warnings
    for name, (items, wanted) in test_hosts.WITHOUT_HOSTS.items():
        yield name, [str(test_hosts.hosts(*items, statefulset=wanted).note)]
    yield "the namespace of the context", [str(test_hosts.hosts(client=Client()).note)]
    yield "two StatefulSets", [refusal(test_hosts.hosts, statefulset(), statefulset("web"))]
    yield "a client that fails", [refusal(test_hosts.hosts, answer=test_hosts.Answer(rc=1))]
    yield "no client", [refusal(test_hosts.hosts, answer=test_hosts.Answer(rc=None, missing=True))]


def test_messages() -> None:
    page = page_of(messages())
    assert kept("messages/pods.txt", page) == page
