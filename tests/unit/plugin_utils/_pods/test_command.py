# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the command lines of kubectl and oc."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._pods.command import binary_of, enter


def test_the_command_that_enters_a_pod_is_that_of_its_connection() -> None:
    assert enter("kubectl", "trainer-1", {}) == ["kubectl", "exec", "--stdin", "--tty", "trainer-1", "--"]
    variables = {
        "ansible_oc_kubeconfig": "/home/me/config",
        "ansible_oc_context": "prod",
        "ansible_oc_namespace": "training",
        "ansible_oc_pod": "trainer-1",
        "ansible_oc_container": "main",
        "ansible_kubectl_namespace": "other",
    }
    assert enter("oc", "node1", variables) == [
        *("oc", "--kubeconfig=/home/me/config", "--context=prod", "--namespace=training", "exec", "--stdin", "--tty"),
        *("trainer-1", "--container=main", "--"),
    ]


def test_which_connections_are_with_pods() -> None:
    names = ("kubernetes.core.kubectl", "community.okd.oc", "ssh")
    assert [binary_of(name) for name in names] == ["kubectl", "oc", None]
