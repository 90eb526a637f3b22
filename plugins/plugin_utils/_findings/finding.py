# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings: results of checks, and how they read on one line."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._text.table import node_names
from .errors import UserError, error_record
from .remedy import Option, Piece, Remedy

Status = Literal["pass", "warn", "fail", "skip", "error"]
BAD: tuple[Status, ...] = ("fail", "error", "warn")  # the worst first


@frozen
class Finding:
    """One result of a check. Node None is the whole cluster; error means that it could not be checked, never a pass.

    check is a name of the registry, or what was refused or not reached, where no check was made.
    """

    check: str
    node: str | None
    status: Status
    observed: str
    expected: str
    source: str
    remedy: Remedy | str

    @property
    def stops(self) -> bool:
        """Whether nothing may be started because of it."""
        return self.status in ("fail", "error")

    def remedy_on(self, nodes: Sequence[str]) -> str:
        """Return the text of the remedy for these nodes; for none of them, it is for the group `nodes`."""
        return "".join(piece.text for piece in self.remedy_pieces(nodes))

    def remedy_pieces(self, nodes: Sequence[str]) -> list[Piece]:
        """Return the same in pieces, some of which are commands."""
        if isinstance(self.remedy, str):
            return [Piece(self.remedy)] if self.remedy else []
        return self.remedy.pieces({Option.NODES: shlex.quote(",".join(nodes))} if nodes else {})

    def to_dict(self) -> dict[str, str | None]:
        return {**vars(self), "remedy": self.remedy_on([self.node] if self.node else [])}

    def to_error(self) -> dict[str, str | None]:
        """Return it as an error of a document."""
        parts = {name: value for name, value in self.to_dict().items() if name != "status"}
        return error_record(line(self), **{name: value or None for name, value in parts.items()})


class PlanError(UserError):
    """Nothing can be started: the findings that prevent it, one line each."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = list(findings)
        super().__init__("\n".join(lines(self.findings)))

    def records(self) -> list[dict[str, str | None]]:
        return [finding.to_error() for finding in self.findings]


def line(finding: Finding, nodes: Sequence[str] = ()) -> str:
    """Render as `node: check: observed; expected … (source); remedy`; expected may be empty."""
    nodes = nodes or ([finding.node] if finding.node else [])
    expected = f"; expected {finding.expected}" if finding.expected else ""
    text = f"{finding.observed}{expected} ({finding.source}); {finding.remedy_on(nodes)}"
    return clean(f"{node_names(nodes) or 'cluster'}: {finding.check}: {text}")


def lines(findings: Iterable[Finding]) -> list[str]:
    """Render all, in order; what is the same on several nodes is one line that names them."""
    nodes: dict[Finding, list[str]] = {}
    for finding in findings:
        group = nodes.setdefault(dataclasses.replace(finding, node=None), [])
        if finding.node is not None:
            group.append(finding.node)
    return [line(finding, group) for finding, group in nodes.items()]
