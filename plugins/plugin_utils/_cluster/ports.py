# SPDX-License-Identifier: GPL-3.0-or-later
"""The port on the head where the ranks meet, and the runners' port below it."""

from __future__ import annotations

import re

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import Net, PortHolder

from .._findings.finding import Finding

DEFAULT_RANGE = (29400, 29999)  # as the role launch has it


@frozen
class RendezvousPort:
    """A TCP port of the head, and why this one."""

    number: int
    reason: str


def gang_port(port: int) -> int:
    """Return the runners' port: the one below the ranks', so that a firewall needs one range."""
    return port - 1


def pick(
    asked: int | None, origin: str, port_range: tuple[int, int], nonce: str, head: str, net: Net, restarts: int = 0
) -> tuple[RendezvousPort, list[Finding]]:
    """Choose the ranks' port among those that are free on the head; the one below it, the runners', is free too.

    If none is requested, it is the first such port of the range (both ends included), from a start that the run's
    nonce decides: two launches that read the same facts then rarely choose the same port. Each restart takes the next
    port, and a firewall blocks those beyond the range.
    """
    listening = set(net.listening)
    if asked is not None:
        taken = [port for port in (asked, gang_port(asked)) if port in listening]
        return RendezvousPort(asked, origin), [_taken(port, origin, head, net.holders.get(str(port))) for port in taken]
    first, last = port_range
    size = last - first - restarts
    start = int(nonce, 16) % max(1, size)
    for step in range(size):
        number = first + 1 + (start + step) % size
        if not {gang_port(number), *range(number, number + restarts + 1)} & listening:
            return RendezvousPort(number, f"free on {head}, of launch_port_range {first}-{last}"), []
    return RendezvousPort(first + 1, "none is free"), [_none_free(first, last, head, restarts)]


def read_range(text: str) -> tuple[int, int]:
    """Read `FIRST-LAST`. Raise ValueError saying what was expected."""
    match = re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", text)
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1024 <= first < last <= 65535:
        raise ValueError("FIRST-LAST with 1024 <= FIRST < LAST <= 65535, as in {}-{}".format(*DEFAULT_RANGE))
    return first, last


def _taken(port: int, origin: str, head: str, holder: PortHolder | None) -> Finding:
    by = ["a process that this user cannot see"]
    if holder is not None and holder.pid is not None:
        by = [f"process {holder.pid}"]
        by += [f"({holder.command})"] if holder.command else []
        by += [f"of run {holder.run_id}"] if holder.run_id else []
    return Finding(
        check="port",
        node=head,
        status="fail",
        observed=f"port {port} is taken by {' '.join(by)}",
        expected="two free ports on the head: one for the ranks, and the one below it for the runners",
        source=origin,
        remedy="choose another, or leave master_port out to get a free one of launch_port_range",
    )


def _none_free(first: int, last: int, head: str, restarts: int) -> Finding:
    return Finding(
        check="port",
        node=head,
        status="fail",
        observed=f"no {restarts + 2 if restarts else 'two'} consecutive ports of {first}-{last} are free",
        expected="one for the ranks, and the one below it for the runners"
        + (f", and one above for each of {restarts} restarts" if restarts else ""),
        source="launch_port_range",
        remedy="widen launch_port_range in the inventory, or choose a port with -e master_port=N",
    )
