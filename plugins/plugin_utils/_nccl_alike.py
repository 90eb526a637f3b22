# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D2 over all nodes: do the chosen ports of the nodes fit together?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl_hcas import NAME, Choice
from ansible_collections.muster.train.plugins.plugin_utils._table import names

Kind = tuple[int, tuple[str, ...], tuple[float, ...]]


def compare(choices: Mapping[str, Choice]) -> list[Finding]:
    """Find nodes whose ports differ from most nodes' in number, link layer or rate.

    InfiniBand and Ethernet cannot meet. A number or rate of its own is a lost link or another machine; where users
    named the ports themselves, it is what they wanted, and a warning.
    """
    kinds = {node: _kind(choice) for node, choice in choices.items() if choice.ports}
    if len(set(kinds.values())) < 2:
        return []
    usual = Counter(kinds.values()).most_common(1)[0][0]
    alike = [node for node, kind in kinds.items() if kind == usual]
    by_user = any(choice.by_user for choice in choices.values())
    findings = []
    for node, kind in kinds.items():
        if kind == usual:
            continue
        stops = kind[1] != usual[1] or not by_user
        findings.append(_differs(node, choices[node], kind, usual, alike, stops))
    return findings


def _kind(choice: Choice) -> Kind:
    layers = {each.port.link_layer or "unknown" for each in choice.ports}
    return len(choice.ports), tuple(sorted(layers)), tuple(sorted({each.rate for each in choice.ports}))


def _differs(node: str, choice: Choice, kind: Kind, usual: Kind, alike: Sequence[str], stops: bool) -> Finding:
    return Finding(
        check="hcas",
        node=node,
        status="fail" if stops else "warn",
        observed=f"{_shown(kind)} for the ranks ({', '.join(each.label for each in choice.ports)})",
        expected=f"{_shown(usual)}, as on {names(alike)}",
        source=f"{NAME} as set" if choice.by_user else "facts rdma",
        remedy="repair the missing link, take the node out of the group nodes, or name the ports of both kinds of node "
        f"with {NAME} in launch_node_env",
    )


def _shown(kind: Kind) -> str:
    count, layers, rates = kind
    ports = f"{count} {' and '.join(layers)} port{'' if count == 1 else 's'}"
    return f"{ports} of {' and '.join(f'{rate:g}' for rate in rates)} Gb/s"
