# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the run's port."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import Net, PortHolder
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import RendezvousPort, pick, read_range
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line


def net(*listening: int, **holders: PortHolder) -> Net:
    held = {name.removeprefix("port"): holder for name, holder in holders.items()}
    return Net(addresses=[], routes=[], listening=list(listening), holders=held)


def free(nonce: int, *listening: int) -> int:
    port, findings = pick(None, "default", (29400, 29409), f"{nonce:032x}", "node0", net(*listening))
    assert findings == []
    assert port.reason == "free on node0, of launch_port_range 29400-29409"
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


def test_no_free_port_is_an_error() -> None:
    _port, findings = pick(None, "default", (29400, 29401), "0" * 32, "node0", net(29400, 29401))
    assert [(finding.node, finding.status) for finding in findings] == [("node0", "fail")]
    assert line(findings[0]).startswith("node0: port: no two consecutive ports of 29400-29401 are free; ")


def test_a_requested_port_may_be_outside_the_range() -> None:
    assert pick(1234, "-e master_port", (29400, 29409), "0" * 32, "node0", net(29400)) == (
        RendezvousPort(1234, "-e master_port"),
        [],
    )


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        (PortHolder(7, "python3 train.py", "multinode_1"), "process 7 (python3 train.py) of run multinode_1;"),
        (PortHolder(7, "nginx", None), "process 7 (nginx);"),
        (PortHolder(None, None, None), "a process that this user cannot see;"),
    ],
)
def test_a_requested_port_that_is_taken_names_its_holder(holder: PortHolder, text: str) -> None:
    _port, findings = pick(29500, "-e master_port", (29400, 29409), "0" * 32, "node0", net(29500, port29500=holder))
    assert [finding.status for finding in findings] == ["fail"]
    assert line(findings[0]).startswith(f"node0: port: port 29500 is taken by {text}")


def test_a_requested_port_with_a_taken_neighbor() -> None:
    _port, findings = pick(29500, "-e master_port", (29400, 29409), "0" * 32, "node0", net(29499))
    assert [line(finding).partition(" is taken")[0] for finding in findings] == ["node0: port: port 29499"]


def test_a_requested_port_that_an_unknown_process_holds() -> None:
    _port, findings = pick(29500, "-e master_port", (29400, 29409), "0" * 32, "node0", net(29500))
    assert "taken by a process that this user cannot see" in line(findings[0])


@pytest.mark.parametrize(
    ("text", "ports"), [("29400-29999", (29400, 29999)), ("1024-1025", (1024, 1025)), ("1024-65535", (1024, 65535))]
)
def test_read_range(text: str, ports: tuple[int, int]) -> None:
    assert read_range(text) == ports


@pytest.mark.parametrize(
    "text",
    [
        "",
        "29400",
        "29999-29400",
        "1024-1024",
        "1023-2000",
        "60000-65536",
        "a-b",
        "29400-29999\n",
        "29400 - 29999",
        "1-2-3",
        "٢٩٤٠٠-29999",
    ],
)
def test_read_range_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="as in 29400-29999"):
        read_range(text)


def test_restarts_stay_within_the_range() -> None:
    nonces = [f"{nonce:032x}" for nonce in range(20)]
    chosen = {pick(None, "default", (29400, 29409), nonce, "n1", net(29403), 3)[0].number for nonce in nonces}
    assert chosen == {29405, 29406}


def test_no_room_for_restarts_is_an_error() -> None:
    _port, findings = pick(None, "default", (29400, 29403), "0" * 32, "n1", net(), 5)
    assert line(findings[0]).startswith("n1: port: no 7 consecutive ports of 29400-29403 are free; ")
