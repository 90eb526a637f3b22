# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D2 over all nodes: do the chosen ports of the nodes fit together?"""

from __future__ import annotations

from collections.abc import Mapping

from .._cluster.peers import Usual, usual
from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .hcas import NAME, Choice

Kind = tuple[int, tuple[str, ...], tuple[float, ...]]


def compare(choices: Mapping[str, Choice]) -> list[Finding]:
    """Find nodes whose ports differ from most nodes' in number, link layer or rate.

    InfiniBand and Ethernet cannot meet. A number or rate of its own is a lost link or another machine; where users
    named the ports themselves, it is what they wanted, and a warning.
    """
    kinds = {node: _kind(choice) for node, choice in choices.items() if choice.ports}
    peers = usual(kinds)
    if peers is None:
        return []
    by_user = any(choice.by_user for choice in choices.values())
    return [
        _differs(node, choices[node], kinds[node], peers, kinds[node][1] != peers.value[1] or not by_user)
        for node in peers.odd
    ]


def _kind(choice: Choice) -> Kind:
    layers = {each.port.link_layer or "unknown" for each in choice.ports}
    return len(choice.ports), tuple(sorted(layers)), tuple(sorted({each.rate for each in choice.ports}))


def _differs(node: str, choice: Choice, kind: Kind, peers: Usual[Kind], stops: bool) -> Finding:
    return Finding(
        check="hcas",
        node=node,
        status="fail" if stops else "warn",
        observed=f"{_shown(kind)} for the ranks ({', '.join(each.label for each in choice.ports)})",
        expected=f"{_shown(peers.value)}, {peers.source}",
        source=f"{NAME} as set" if choice.by_user else "facts rdma",
        remedy=sentence(
            "repair the missing link, take the node out of the group nodes, or name the ports of both kinds of node ",
            f"with {NAME} in ",
            Option.NODE_ENV,
        ),
    )


def _shown(kind: Kind) -> str:
    count, layers, rates = kind
    ports = f"{count} {' and '.join(layers)} port{'' if count == 1 else 's'}"
    return f"{ports} of {' and '.join(f'{rate:g}' for rate in rates)} Gb/s"
