# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fabric the ranks of a run use, as NCCL's own log proves it. The runner takes this file along."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .document import Document
from .frozen import field, frozen

# A node's report that is longer in JSON leaves out variables and cuts texts: a frame between runners holds 4 KiB.
MAX_REPORT_BYTES, MOST_VARIABLES, MOST_TEXT = 1400, 4, 300
# Verdicts, and what is done where it is not pass.
PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
OFF, WARN = "off", "warn"
# The kind of an end that the verdict on the fabric has brought about.
TRANSPORT = "transport"


@frozen
class TransportFinding(Document):
    """What decides against a node: the check and its ranks (`0-3`), and the line of NCCL's log that shows it."""

    check: str | None = None
    ranks: str | None = None
    observed: str | None = None
    expected: str | None = None
    remedy: str | None = None
    line: str | None = None


@frozen
class ReadVariable(Document):
    """A variable that NCCL did not read as planned: the value read is None where no line names the variable.

    planned and origin (of the plan) are None where no plan has it. source: where the value that was read is set, None
    where the launch does not know it.
    """

    name: str | None = None
    planned: str | None = None
    origin: str | None = None
    read: str | None = None
    source: str | None = None


@frozen
class NodeTransport(Document):
    """What the logs of a node's ranks show of the fabric, as if all connections were made.

    verdict: pass, fail or unknown. is_certain: it is fail whatever else will be connected. is_quiet: there are
    connections to other nodes, and for some seconds no new line. is_behind: the logs have more than was read so far.
    nics are those that are used, of wanted_nics.
    """

    verdict: str | None = None
    is_certain: bool = False
    is_quiet: bool = False
    networks: list[str] = field(default_factory=list)
    gdr: bool | None = None
    nics: int = 0
    wanted_nics: int = 0
    finding: TransportFinding | None = None
    variables: list[ReadVariable] = field(default_factory=list)
    is_behind: bool = False

    def shortened(self) -> NodeTransport:
        """Return it so short that it fits into a sign of life."""
        most, short = MOST_TEXT, self._cut_at(MOST_TEXT)
        while short.variables and _size(short) > MAX_REPORT_BYTES:
            short = dataclasses.replace(short, variables=short.variables[:-1])
        while most and _size(short) > MAX_REPORT_BYTES:
            most //= 2
            short = short._cut_at(most)
        return short

    def _cut_at(self, most: int) -> NodeTransport:
        return dataclasses.replace(
            self,
            networks=[name[:most] for name in self.networks[:MOST_VARIABLES]],
            variables=[_cut(item, most) for item in self.variables[:MOST_VARIABLES]],
            finding=None if self.finding is None else _cut(self.finding, most),
        )


@frozen
class TransportVerdict(Document):
    """What the head has concluded of all nodes: pass, fail or unknown, and how it came to that.

    nodes: how many the run has. node, finding: the first node that decides against it, and why; others: how many more
    do. nics: the fewest that a node uses, of wanted_nics. variables: of the first node where any differs, which is
    variables_node. is_stopped: the run was ended for it.
    """

    verdict: str | None = None
    nodes: int = 0
    networks: list[str] = field(default_factory=list)
    gdr: bool | None = None
    nics: int = 0
    wanted_nics: int = 0
    node: str | None = None
    others: int = 0
    finding: TransportFinding | None = None
    variables: list[ReadVariable] = field(default_factory=list)
    variables_node: str | None = None
    is_stopped: bool = False


def _cut(record: Any, most: int) -> Any:
    texts = {name: value[:most] for name, value in record.to_dict().items() if isinstance(value, str)}
    return dataclasses.replace(record, **texts)


def _size(report: NodeTransport) -> int:
    return len(json.dumps(report.to_dict()))
