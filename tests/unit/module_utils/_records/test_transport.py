# SPDX-License-Identifier: GPL-3.0-or-later
"""How the reports of nodes become a verdict, and how little room a report needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.transport import (
    MAX_REPORT_BYTES,
    NodeTransport,
    ReadVariable,
    TransportFinding,
    TransportVerdict,
)
from ansible_collections.muster.train.plugins.module_utils._records.transport_verdict import conclude

FINDING = TransportFinding("nccl gdr", "0-3", "no GPUDirect RDMA", "GPUDirect RDMA", "load it", "a line")
PASS = NodeTransport("pass", networks=["IB"], gdr=True, nics=8, wanted_nics=8)
FAIL = NodeTransport("fail", is_certain=True, networks=["IB"], gdr=False, nics=8, wanted_nics=8, finding=FINDING)
NICS = NodeTransport("fail", networks=["IB"], gdr=True, nics=4, wanted_nics=8, finding=FINDING)
OPEN = NodeTransport("unknown", finding=FINDING)


def concluded(*reports: NodeTransport | None, connected: str = "", settled: bool = False) -> TransportVerdict | None:
    return conclude({f"n{number}": report for number, report in enumerate(reports)}, connected.split(), settled)


@pytest.mark.parametrize(
    ("reports", "connected", "settled", "wanted"),
    [
        ((PASS, PASS), "n0 n1", False, ("pass", None, 0)),
        ((PASS, PASS), "n0", False, None),
        ((PASS, None), "n0 n1", False, None),
        ((PASS, None), "n0 n1", True, ("unknown", "n1", 0)),
        ((None, None), "", True, ("unknown", "n0", 1)),
        ((PASS, OPEN), "n0 n1", False, None),
        ((PASS, OPEN), "n0 n1", True, ("unknown", "n1", 0)),
        ((PASS, FAIL), "", False, ("fail", "n1", 0)),
        ((FAIL, OPEN, FAIL), "", False, ("fail", "n0", 1)),
        ((NICS, PASS), "n1", False, None),
        ((NICS, PASS), "n0", False, ("fail", "n0", 0)),
        ((NICS, PASS), "", True, ("fail", "n0", 0)),
    ],
)
def test_the_verdict_over_all_nodes(
    reports: tuple[NodeTransport | None, ...], connected: str, settled: bool, wanted: tuple[str, Any, int] | None
) -> None:
    verdict = concluded(*reports, connected=connected, settled=settled)
    assert (verdict and (verdict.verdict, verdict.node, verdict.others)) == wanted


def test_what_a_verdict_says_of_the_fabric() -> None:
    few = NodeTransport("pass", networks=["IB"], gdr=None, nics=2, wanted_nics=8, variables=[ReadVariable("A", "1")])
    verdict = concluded(PASS, few, settled=True)
    assert verdict == TransportVerdict(
        "pass",
        nodes=2,
        networks=["IB"],
        gdr=None,
        nics=2,
        wanted_nics=8,
        variables=few.variables,
        variables_node="n1",
    )


@pytest.mark.parametrize("text", ["x", "\x01", "\U0001f600", "é"])
def test_a_report_fits_into_a_sign_of_life(text: str) -> None:
    long = text * 5000
    report = NodeTransport(
        "unknown",
        networks=[long] * 9,
        finding=TransportFinding(long, long, long, long, long, long),
        variables=[ReadVariable(long, long, long, long, long)] * 9,
    )
    short = report.shortened()
    assert len(json.dumps(short.to_dict())) <= MAX_REPORT_BYTES
    assert short.finding is not None and short.finding.observed
    assert NodeTransport.from_dict(json.loads(json.dumps(short.to_dict()))) == short
    assert PASS.shortened() == PASS


@pytest.mark.parametrize("data", [None, 7, "x", [], {"finding": 3, "variables": [1, {}], "nics": -1, "gdr": "x"}])
def test_a_report_may_be_forged(data: object) -> None:
    assert NodeTransport.from_dict(data).verdict is None
