# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the run's port."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import Net, PortHolder
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import RendezvousPort, pick, read_range
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.cases import Case, outcomes


def net(*listening: int, **holders: PortHolder) -> Net:
    held = {name.removeprefix("port"): holder for name, holder in holders.items()}
    return Net(addresses=[], routes=[], listening=list(listening), holders=held)


def free(nonce: int, *listening: int) -> int:
    port, findings = pick(None, "default", (29400, 29409), f"{nonce:032x}", "node0", net(*listening))
    assert findings == []
    return port.number


@pytest.mark.parametrize(("nonce", "number"), [(0, 29401), (8, 29409), (9, 29401), (13, 29405)])
def test_the_nonce_decides_where_the_search_begins(nonce: int, number: int) -> None:
    assert free(nonce) == number


def test_taken_ports_are_passed_over_and_the_end_goes_on_at_the_beginning() -> None:
    assert free(7, 29408, 29409) == 29401
    assert free(7, 29400, 29409) == 29408


def test_the_port_below_has_to_be_free_too() -> None:
    assert free(0, 29400) == 29402
    assert free(5, *(port for port in range(29400, 29410) if port not in (29403, 29404, 29406))) == 29404


def test_a_requested_port_may_be_outside_the_range() -> None:
    assert pick(1234, "-e master_port", (29400, 29409), "0" * 32, "node0", net(29400)) == (
        RendezvousPort(1234, "-e master_port"),
        [],
    )


def taken(listening: int, **holders: PortHolder) -> list[Finding]:
    """What is found where port 29500 is requested, and this one listens."""
    return pick(29500, "-e master_port", (29400, 29409), "0" * 32, "node0", net(listening, **holders))[1]


def none_free(first: int, last: int, *listening: int, restarts: int = 0) -> list[Finding]:
    """What is found where none is requested, and none of the range will do."""
    return pick(None, "default", (first, last), "0" * 32, "node0", net(*listening), restarts)[1]


FAILED = [("port", "node0", "fail")]
CASES = [
    Case("taken by a run", lambda: taken(29500, port29500=PortHolder(7, "python3 train.py", "multinode_1")), FAILED),
    Case("taken by a process", lambda: taken(29500, port29500=PortHolder(7, "nginx", None)), FAILED),
    Case("taken by a process that is not seen", lambda: taken(29500, port29500=PortHolder(None, None, None)), FAILED),
    Case("taken by nobody who is known", lambda: taken(29500), FAILED),
    Case("with a taken neighbor", lambda: taken(29499), FAILED),
    Case("not free in the range", lambda: none_free(29400, 29401, 29400, 29401), FAILED),
    Case("without room for restarts", lambda: none_free(29400, 29403, restarts=5), FAILED),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_port_that_cannot_be_used_is_refused(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(
    ("text", "ports"), [("29400-29999", (29400, 29999)), ("1024-1025", (1024, 1025)), ("1024-65535", (1024, 65535))]
)
def test_read_range(text: str, ports: tuple[int, int]) -> None:
    assert read_range(text) == ports


RANGES_REFUSED = [
    *("", "29400", "29999-29400", "1024-1024", "1023-2000", "60000-65536", "a-b", "29400-29999\n", "29400 - 29999"),
    *("1-2-3", "٢٩٤٠٠-29999"),
]


@pytest.mark.parametrize("text", RANGES_REFUSED)
def test_read_range_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"^\S"):
        read_range(text)


def test_restarts_stay_within_the_range() -> None:
    nonces = [f"{nonce:032x}" for nonce in range(20)]
    chosen = {pick(None, "default", (29400, 29409), nonce, "n1", net(29403), 3)[0].number for nonce in nonces}
    assert chosen == {29405, 29406}
