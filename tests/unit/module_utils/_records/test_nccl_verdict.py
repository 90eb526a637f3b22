# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log proves of the fabric: fallbacks are failed by name, and nothing passes without a connection."""

from __future__ import annotations

import re

import pytest

from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import NcclLogParser
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import (
    MOST_NAMED,
    NcclExpectation,
    judge,
)
from ansible_collections.muster.train.tests.support.nccl_cases import ANY, CASES, RDMA, verdict_of
from ansible_collections.muster.train.tests.support.nccl_logs import (
    GDR,
    GOOD,
    SOCKET,
    choice,
    edges,
    elsewhere,
    grid,
    log_of,
)


@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str) -> None:
    _expected, _log, verdict, check = CASES[name]
    judged = verdict_of(name)
    assert (judged.verdict, sorted({finding.check for finding in judged.findings})) == (
        verdict,
        [check] if check else [],
    )


def test_what_a_pass_says() -> None:
    judged = verdict_of("as planned")
    assert (judged.transport, judged.networks, judged.gdr, judged.edges, judged.nics) == ("rdma", ["IB"], True, 4, 2)
    assert judged.line == edges(0, GDR)[0]


def test_what_a_failure_says() -> None:
    judged = verdict_of("one rank on Socket")
    [finding] = judged.findings
    assert (judged.transport, finding.ranks, finding.count, finding.status) == ("mixed", ["1"], 1, "fail")
    assert judged.line == finding.line == edges(1, SOCKET)[0]


def test_a_warning_does_not_fail() -> None:
    for name in ("GPUDirect on one of two ranks, not expected", "a completion that was flushed"):
        assert [finding.status for finding in verdict_of(name).findings] == ["warn"], name


def test_peers_of_the_node_are_no_proof() -> None:
    """With P2P and shared memory off, the ranks of one node are connected through the network as well."""
    inside = edges(0, GDR)
    log = log_of(choice(0), choice(2), inside)
    assert [item.outside for item in log.ranks[0].net] == [False]
    assert judge(log, NcclExpectation("rdma")).verdict == "unknown"


def test_rank_numbers_of_two_communicators_are_not_compared() -> None:
    small = ["n0:100:200 [0] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 0 busId b000 - Init COMPLETE"]
    log = log_of(choice(0), choice(2), small, edges(0, GDR))
    assert (log.ranks[0].ambiguous, log.ranks[0].rank, [item.outside for item in log.ranks[0].net]) == (True, 0, [True])


def test_the_ranks_of_a_node_without_proof_are_named() -> None:
    [finding] = verdict_of("a node without a connection to another").findings
    assert (finding.status, finding.ranks, finding.count) == ("error", ["2", "3"], 2)


def test_communicators_of_one_size_are_ambiguous() -> None:
    """By their nodes, or by the rank's numbers in them."""
    uncounted = [re.sub(r" nNodes \d", "", line) for line in grid(1)]
    inside = [line.replace("nNodes 2", "nNodes 1") for line in grid(1)]
    observed = [
        [(rank.ambiguous, rank.net[0].outside) for rank in log_of(lines).ranks]
        for lines in (grid(1), uncounted, inside)
    ]
    assert observed == [[(True, True)] * 2, [(True, True), (False, False)], [(True, False), (False, False)]]


def test_the_ranks_of_a_node_are_not_those_of_another() -> None:
    back = [line.replace("-> 2[0]", "-> 0[0]").replace(": 0[0]", ": 2[0]") for line in edges(0, GDR)]
    parser = NcclLogParser()
    parser.feed("\n".join([*GOOD[0], *GOOD[2], *elsewhere(GOOD[0], back)]).encode())
    parser.end_file()
    assert [rank.net[0].outside for rank in parser.record([0, 1]).ranks] == [True, True]


def test_other_warnings_are_counted() -> None:
    assert verdict_of("a warning").findings[0].status == "warn"
    assert [finding.status for finding in verdict_of("a port that came back").findings] == ["warn"]


def test_a_log_that_was_not_read_completely_is_reported() -> None:
    log = log_of(*GOOD)
    vars(log)["complete"] = False
    assert [finding.check for finding in judge(log, RDMA).findings] == ["nccl log"]


def test_the_same_failure_of_many_ranks_is_one_finding() -> None:
    lines = [
        f"n0:{rank}:{rank} [0] NCCL INFO Channel 00/0 : {rank}[0] -> {rank + 900}[0] [send] via NET/Socket/0"
        for rank in range(500)
    ]
    [finding] = judge(log_of(lines), NcclExpectation("rdma")).findings
    assert (len(finding.ranks), finding.count) == (MOST_NAMED, 500)
    assert judge(log_of(lines), ANY).verdict == "pass"
