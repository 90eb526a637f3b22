# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of a run's fabric, and that it is the cause of an end that it has brought about."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import End, RunRecord
from ansible_collections.muster.train.plugins.module_utils._records.transport import (
    TRANSPORT,
    ReadVariable,
    TransportFinding,
    TransportVerdict,
)
from ansible_collections.muster.train.plugins.plugin_utils._results import transports
from ansible_collections.muster.train.plugins.plugin_utils._results.listing import list_lines
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import summarize
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

PASS = TransportVerdict("pass", 2, ["IB"], True, 8, 8)
FINDING = TransportFinding("nccl transport", "4-7", "tcp by NCCL's network Socket", "rdma", "look", "the line")
FAIL = TransportVerdict("fail", 2, ["IB"], node="n1", finding=FINDING, is_stopped=True)
DIFFERS = TransportVerdict(
    "pass",
    2,
    ["IB"],
    variables=[
        ReadVariable("NCCL_ALGO", "Ring", "-e env"),
        ReadVariable("NCCL_IB_HCA", "=mlx5_0", "fabric", "mlx5_1", "/etc/nccl.conf"),
        ReadVariable("NCCL_PROTO", "LL", "-e env", "Simple"),
        ReadVariable("NCCL_P2P_LEVEL", None, None, "SYS", "image a:1"),
    ],
    variables_node="n0",
)
SILENT = TransportVerdict("unknown", 64, node="n7", others=2)
OPEN = TransportVerdict(
    "unknown",
    2,
    node="n0",
    others=1,
    finding=TransportFinding("nccl log", None, "NCCL_DEBUG=WARN (login)", "NCCL's own log", "remove it"),
)
VERDICTS = {
    "as planned": PASS,
    "without GPUDirect": TransportVerdict("pass", 2, ["AWS Libfabric"], False, 1, 0),
    "another fabric": FAIL,
    "variables": DIFFERS,
    "no report": SILENT,
    "not proved": OPEN,
}


def parts(kind: str | None) -> list[RunRecord]:
    end = End("failed", "fabric not as planned: n1 (rank 4)", "n1", None, None, kind)
    return [
        RunRecord(node=f"n{rank}", node_rank=rank, nnodes=2, nproc=1, phase="stopped", end=end) for rank in range(2)
    ]


def test_a_line_of_a_log_is_only_printed() -> None:
    finding = TransportFinding("nccl transport", None, "tcp", "rdma", "look", "evil\x1b[2J\nfabric: IB")
    assert all(text.isprintable() for text in transports.texts_of(TransportVerdict("fail", 2, finding=finding)))


def test_the_head_has_the_verdict() -> None:
    assert transports.transport_of([RunRecord(node="n0", transport=PASS), RunRecord(node="n1")]) == PASS
    assert transports.transport_of([RunRecord(node="n0")]) is None
    known = transports.data([RunRecord(transport=FAIL)])
    assert known is not None and (known["verdict"], known["finding"]["check"]) == ("fail", "nccl transport")
    assert transports.data([RunRecord()]) is None


@pytest.mark.parametrize(("verdict", "lines", "good"), [(PASS, 1, True), (FAIL, 2, False), (DIFFERS, 5, False)])
def test_a_proof_is_one_line_and_what_is_wrong_has_its_own(verdict: TransportVerdict, lines: int, good: bool) -> None:
    assert (len(transports.texts_of(verdict)), transports.is_good(verdict)) == (lines, good)


def test_an_end_for_the_fabric_has_it_as_its_cause() -> None:
    verdict = judge(parts(TRANSPORT))
    assert verdict.cause is not None
    assert (verdict.verdict, verdict.node, verdict.cause.message) == ("failed", "n1", verdict.why)
    assert judge(parts(None)).cause is None


def test_the_line_is_in_the_list() -> None:
    known = {"transport": "IB + GDRDMA on 8/8 NICs, 2 nodes", "transport_verdict": "pass", "verdict": "succeeded"}
    text = "".join(f"{name}: {value}\n" for name, value in known.items())
    entry = summarize("r1", text)
    assert (entry.values["transport"], entry.values["transport_verdict"]) == (known["transport"], "pass")
    shown = list_lines([entry, summarize("r2", "verdict: succeeded\n")], 120)
    assert sum(known["transport"] in line for line in shown) == 1
