# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes that did not answer: why, and what to do, for people and for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import error_record
from .._findings.finding import Finding, line
from .._text.table import node_names
from .infos import Info

# Of the lines for one cluster: the reason that most nodes have in common is among them.
MOST = 5


def errors(infos: Iterable[Info]) -> list[dict[str, str | None]]:
    """Return an error for each node that did not answer."""
    return [_error(info) for info in infos if not info.answered]


def _error(info: Info) -> dict[str, str | None]:
    if info.finding is not None:
        return info.finding.to_error()
    message = f"{info.node}: {info.run.phase}: {info.run.why}"
    return error_record(message, info.node, "answer", info.run.why, "an answer")


def lines(infos: Iterable[Info]) -> list[str]:
    """Return a line for each of the first reasons why nodes did not answer, which names them, in their order."""
    nodes: dict[Finding | str, list[str]] = {}
    for info in infos:
        if not info.answered:
            reason = dataclasses.replace(info.finding, node=None) if info.finding else str(info.run.why)
            nodes.setdefault(reason, []).append(info.node)
    shown = [
        line(reason, group) if isinstance(reason, Finding) else clean(f"{node_names(group)}: {reason}")
        for reason, group in list(nodes.items())[:MOST]
    ]
    others = [node for group in list(nodes.values())[MOST:] for node in group]
    return [*shown, clean(f"{node_names(others)}: other reasons")] if others else shown
