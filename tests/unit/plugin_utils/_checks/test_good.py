# SPDX-License-Identifier: GPL-3.0-or-later
"""Good machines give no alarm: two alike of each kind in tests/machines."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.cases import Case, Outcome, outcomes
from ansible_collections.muster.train.tests.support.preflight_parts import NAMES, Facts, alarms, report

# Machines that the rules of the environment rightly warn of.
WARNED = {
    "half_ports_down": {"rdma ports"},  # that is what it is
    "lost_lanes": {"rdma ports"},  # likewise
    "efa_p4d": {"rdma ports"},  # NCCL's own transport does not take EFA
    "rtx4090": {"rdma ports"},  # its only RDMA port carries the default route
    "hgx_h100": {"rdma ports"},  # their trees have adapters without ports
    "mi300x": {"rdma ports"},
    "azure_ndv4": {"environment"},  # without the topology file of its cloud
    "gcp_a3mega": {"rdma ports", "interface"},  # no RDMA, and the head's address is on the slower network
    "calico_pod": {"rdma ports"},  # no RDMA
    "two_nics_one_subnet": {"rdma ports"},  # no RDMA
}
# What their owner says to that.
OPTIONS: dict[str, dict[str, Any]] = {
    "calico_pod": {"mode": "tcp"},
    "hgx_h100": {"mode": "tcp"},
    "mi300x": {"mode": "tcp"},
    "rtx4090": {"mode": "tcp"},
    "two_nics_one_subnet": {"mode": "tcp"},
}
# Without a default route the head's address is not known: rightly refused.
REFUSED = {"container": "interface"}
GOOD = [name for name in NAMES if name not in REFUSED and (name not in WARNED or name in OPTIONS)]


@pytest.mark.parametrize("name", GOOD)
def test_good_machines_give_no_alarm(name: str) -> None:
    result = report(name, **OPTIONS.get(name, {}))
    assert alarms(result) == []
    assert result.code == 0


@pytest.mark.parametrize("name", WARNED)
def test_a_known_oddity_is_a_warning_and_no_more(name: str) -> None:
    result = report(name)
    assert {(check, status) for check, _node, status in alarms(result)} == {(check, "warn") for check in WARNED[name]}
    assert result.code == 0


@pytest.mark.parametrize("name", REFUSED)
def test_a_machine_that_cannot_be_the_head_is_refused(name: str) -> None:
    assert {(check, status) for check, _node, status in alarms(report(name))} == {(REFUSED[name], "fail")}


def test_there_are_fourteen() -> None:
    assert len(GOOD) >= 14


def second(facts: Facts) -> None:
    """Give every port another entry, which a user's range of addresses chooses."""
    for device in facts["rdma"]["hcas"]:
        for port in device["ports"]:
            first = port["gids"][-1]
            port["gids"].append({**first, "index": 9, "gid": "", "address": "10.7.0.9"})


def entries(name: str, **options: Any) -> list[Finding]:
    """Which entries of the ports' tables are used."""
    return [finding for finding in report(name, **options).findings if finding.check == "gids"]


ON_BOTH: list[Outcome] = [("gids", "node0", "pass"), ("gids", "node1", "pass")]
OF_A_RANGE = {"both": second, "env": {"NCCL_IB_ADDR_RANGE": "10.7.0.0/16"}}
CASES = [
    Case("the entries that a user's network chooses", lambda: entries("hgx_h100_roce", **OF_A_RANGE), ON_BOTH),
    Case("the entries of an IPv6 fabric", lambda: entries("ipv6_roce"), ON_BOTH),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_entries_are_found_on_every_node(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes
