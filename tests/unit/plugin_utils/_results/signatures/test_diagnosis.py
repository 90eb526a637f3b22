# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs say together: causes first, and by what a failed run is explained."""

from __future__ import annotations

import io

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.signatures import text
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.diagnosis import (
    Diagnosis,
    LogPlace,
    diagnose,
    likeliest,
    scanner,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.signature import load

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CLOSED = "RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.2]:46290."
FALLBACK = "NCCL INFO NET/IB : No device found."
RETRIES = "NCCL WARN NET/IB: Got completion from peer 10.0.0.2<41> with status=12 opcode=0 len=0 vendor err 129 (Send)"
EVIL = "{{ x }} \x1b[2J<b> " + OOM
LOGS: dict[tuple[str | None, int | None, str], str] = {
    ("n1", 9, "ranks/rank_09.log"): f"2026-11-20T14:30:10.000Z {CLOSED}\n2026-11-20T14:30:11.000Z {RETRIES}",
    ("n0", 1, "ranks/rank_01.log"): f"2026-11-20T14:30:12.000Z {OOM}\n2026-11-20T14:30:13.000Z {OOM}",
    ("n0", 2, "ranks/rank_02.log"): f"2026-11-20T14:30:11.500Z {OOM}\n2026-11-20T14:30:01.000Z {FALLBACK}",
    (None, None, "a.log"): EVIL,
}


def diagnoses() -> list[Diagnosis]:
    return diagnose(
        LogPlace(node, rank, file, sighting)
        for (node, rank, file), log in LOGS.items()
        for sighting in scanner().scan(io.BytesIO(log.encode()))
    )


def test_causes_come_first_and_of_a_kind_the_earliest() -> None:
    known = [(one.signature.name, one.count, [place.rank for place in one.places]) for one in diagnoses()]
    assert known == [
        ("ib_retry_exceeded", 1, [9]),
        ("cuda_out_of_memory", 4, [2, 1, None]),
        ("gloo_peer_closed", 1, [9]),
        ("nccl_socket_fallback", 1, [2]),
    ]


def test_a_place_as_data() -> None:
    assert diagnoses()[1].to_dict()["places"][1] == {
        "node": "n0",
        "rank": 1,
        "file": "ranks/rank_01.log",
        "line": 1,
        "time": "2026-11-20 14:30:12.000",
        "text": OOM,
        "count": 2,
    }


@pytest.mark.parametrize("width", [1, 40, 100, 400])
def test_all_that_is_shown_can_be_printed(width: int) -> None:
    lines = text.lines(diagnoses(), width)
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= max(width, text.NARROWEST) or width < 100


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([CLOSED, OOM, FALLBACK], "cuda_out_of_memory"),
        ([CLOSED, "Traceback"], "gloo_peer_closed"),
        ([FALLBACK], None),
        (["\udcff\0", ""], None),
        ([], None),
    ],
)
def test_a_failure_is_explained_by_its_last_lines(lines: list[str], name: str | None) -> None:
    entry = likeliest(lines)
    assert (entry and entry.name) == name


def test_what_the_verdict_says_is_not_repeated() -> None:
    entry = next(entry for entry in load() if entry.name == "cuda_out_of_memory")
    (fix,) = text.advice(f"n0: rank 1 exited with code 1: {OOM}", [])
    assert entry.fix in fix
    cause, *others = text.advice("n0: rank 1 failed", [OOM])
    assert (entry.cause in cause, others) == (True, [fix])
    assert text.advice("n0: rank 1 failed", []) == []


def test_a_cause_that_the_line_does_not_say_is_said() -> None:
    assert len(text.advice(f"n1: rank 9 exited with code 1: {RETRIES}", [])) == 2
