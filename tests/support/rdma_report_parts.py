# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of which the verb `rdma` reports: those of preflight's tests, with what surrounds their adapters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import run
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, NodeAnswer
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import detect
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.report import RdmaReport, report_on
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import Users
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import FabricPolicy
from ansible_collections.muster.train.plugins.plugin_utils._verbs.rdma import SUBSET
from ansible_collections.muster.train.tests.support.preflight_parts import Facts, facts_of, healthy

ROCE = "hgx_h100_roce"


def as_it_is(_facts: Facts) -> None:
    """Change nothing."""


def elsewhere(facts: Facts, number: int) -> Facts:
    """The same machine with addresses and GUIDs of its own."""
    text = json.dumps(facts).replace('.11"', f'.{number + 11}"').replace("b83f:d203:", f"b83f:{number:04x}:")
    changed: Facts = json.loads(text)
    return changed


def facts_with(change: Callable[[Facts], object] = as_it_is, number: int = 0, machine: str = ROCE) -> Facts:
    """What such a node answers."""
    facts = elsewhere(facts_of(machine, number), number)
    addresses = [hca["pci_address"] for hca in facts["rdma"]["hcas"] if hca["pci_address"]]
    facts["node"].update(
        rdma_health={
            "iommu": dict.fromkeys(addresses, "identity"),
            "acs_redirects": {"0000:17:00.0": False, "0000:28:00.0": None},
            "tools": {"ibstat": "/usr/sbin/ibstat", "rdma": "/usr/sbin/rdma"},
        },
        services={"ssh.service": {"soft": 8 << 20, "hard": 8 << 20}},
    )
    facts["node"]["engine"].update(default_memlock=-1, memlock_source="/proc/1042/limits of containerd")
    change(facts)
    return facts


def many(count: int) -> list[Node]:
    """Alike nodes, each with its own addresses."""
    first, answers = facts_with(), []
    surroundings = {name: first["node"][name] for name in ("rdma_health", "services", "engine")}
    for number in range(count):
        facts = healthy(elsewhere(first, number), number)
        facts["node"].update(surroundings)
        answers.append(Node.from_facts(f"n{number + 1:03d}", facts, f"10.99.0.{number + 1}"))
    return answers


def nodes_with(*changes: Callable[[Facts], object]) -> list[Node]:
    """A node for each change."""
    answers = [facts_with(change, number) for number, change in enumerate(changes)]
    return [Node.from_facts(f"node{n}", facts, f"10.99.0.{n + 1}") for n, facts in enumerate(answers)]


def reported(answers: Sequence[NodeAnswer], **policy: Any) -> RdmaReport:
    """The report on these answers."""
    rules = ClusterPolicy(**{"version": "2.27.7", **policy})
    users = Users(FabricPolicy("auto", DEFAULT))
    cluster = Cluster({}, policy=rules).with_answers(answers, users)
    return report_on(detect(answers, rules, users), rules, [result.finding for result in run(cluster, SUBSET)])


def symbol_errors(facts: Facts) -> None:
    facts["rdma"]["hcas"][3]["ports"][0]["counters"].update(symbol_error=4711, link_downed=2)


def old_firmware(facts: Facts) -> None:
    facts["rdma"]["hcas"][0]["fw_ver"] = "28.38.1002"


def without_an_adapter(facts: Facts) -> None:
    facts["rdma"]["hcas"].pop(2)


def closed_device(facts: Facts) -> None:
    facts["node"]["devices"][0].update(mode="0600", readable=False, writable=False)
