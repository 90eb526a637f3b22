# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether ports of other nodes answer."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable

from .._host.live import LiveHost, LiveSystem, LookedUp
from .._records.health import Reach

TIMEOUT_S = 5.0
RESULTS = {
    0: "connected",
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EACCES: "unreachable",  # a firewall's REJECT with admin-prohibited, or a route marked prohibit
}
_TARGET = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45}(?:%[\w.-]{1,15})?)\]|([\w.-]{1,253})):([0-9]{1,5})", re.ASCII)
_IPV4 = re.compile(r"[0-9.]+", re.ASCII)


def parse_target(text: str) -> tuple[str, int] | None:
    """Return address and port of 10.0.0.1:29500, [fd00::1]:29500 or head:29500, None for anything else."""
    match = _TARGET.fullmatch(text.strip())
    if match is None or not 0 < int(match.group(3)) < 65536:
        return None
    return match.group(1) or match.group(2), int(match.group(3))


def read_reach(machine: LiveHost, targets: Iterable[str]) -> list[Reach] | None:
    """Return the result of a connection to each address:port or name:port, None below another root."""
    live = machine.live
    if live is None:
        return None
    targets_by_text = {text: parse_target(text) for text in targets}
    known = [target for target in targets_by_text.values() if target is not None]
    answers = {host: _look_up(live, host) for host in dict.fromkeys(target[0] for target in known)}
    tried = {target: (answers[target[0]].addresses[0], target[1]) for target in known if answers[target[0]].addresses}
    states = live.connect(tried.values(), TIMEOUT_S)
    results = []
    for text, target in targets_by_text.items():
        if target is None:
            results.append(Reach(text, 0, "unknown", "not an address or a name, and a port"))
        elif target not in tried:
            results.append(Reach(target[0], target[1], "unknown", answers[target[0]].error or "no address"))
        else:
            results.append(_reach(target, states[tried[target]]))
    return results


def _look_up(live: LiveSystem, host: str) -> LookedUp:
    return LookedUp([host]) if ":" in host or _IPV4.fullmatch(host) else live.look_up(host)


def _reach(target: tuple[str, int], state: int) -> Reach:
    result = RESULTS.get(state, "unknown")
    error = None
    if result not in ("connected", "refused"):
        error = f"no answer within {TIMEOUT_S:g} s" if state == errno.ETIMEDOUT else os.strerror(state)
    return Reach(target[0], target[1], result, error)
