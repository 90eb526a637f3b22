# SPDX-License-Identifier: GPL-3.0-or-later
"""What sysfs does not have, from amd-smi or rocm-smi.

They load Python and the driver's library, and can hang with it: they are called only for what is missing, for at most
five seconds each and within one Budget, and no more after one hung. amd-smi: `static --asic --bus --json` for names,
`topology --json` for links, and the tables of `topology` where that has no addresses (before ROCm 6.3) or is not JSON.
rocm-smi, where amd-smi is missing or fails: all in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

from ..._host.budget import Budget
from ..._host.host import Host
from ..._records.frozen import field, frozen
from . import smi_output
from .topology import ToolTables, link_types, parse_tables

TIMEOUT_S = 5.0
# All pairs of 64 GPUs are 1.5 MB of JSON; the rest of a longer answer is not read.
LIMIT = 4 * 1024 * 1024
# Packages of ROCm need not link their tools into the PATH.
FOLDER = "/opt/rocm/bin/"
NAMES = ("amd-smi", "static", "--asic", "--bus", "--json")
LINKS = ("amd-smi", "topology", "--json")
LINK_TABLES = ("amd-smi", "topology")
ROCM_SMI = ("rocm-smi", "--showbus", "--showproductname", "--showtopotype")


@frozen
class ToolAnswer:
    """Market names by PCI address, and XGMI or PCIE by sorted pair of addresses."""

    names: dict[str, str] = field(default_factory=dict)
    links: dict[tuple[str, str], str] = field(default_factory=dict)


class _Hung(Exception):
    """A tool did not answer, so another one of the same driver would not either."""


def ask(host: Host, warn: Callable[[str], None], *, names: bool, links: bool) -> ToolAnswer:
    """Return the requested names and links; a warning lists what is missing, and why."""
    answer = ToolAnswer()
    budget = Budget(host)
    reasons: dict[str, None] = {}
    try:
        if names:
            answer.names.update(_names(_run(budget, NAMES, reasons), reasons))
        if links:
            answer.links.update(_links(budget, reasons))
        if (names and not answer.names) or (links and not answer.links):
            topology = parse_tables(_run(budget, ROCM_SMI, reasons))
            reasons.update(dict.fromkeys(topology.complaints[:1]))
            answer.links.update(_by_address(topology))
            answer.names.update(_series(topology))
    except _Hung as error:
        reasons[str(error)] = None
    missing = ["market names"] * (names and not answer.names) + ["links"] * (links and not answer.links)
    if missing:
        warn(f"the {' and '.join(missing)} of the AMD GPUs are unknown: {'; '.join(reasons)}")
    return answer


def _run(budget: Budget, argv: Sequence[str], reasons: dict[str, None]) -> str:
    """Return the tool's output, empty if it is missing. Raises _Hung."""
    limit_s = budget.left(TIMEOUT_S)
    result = budget.run(argv, TIMEOUT_S)
    if result.missing:
        result = budget.run([FOLDER + argv[0], *argv[1:]], TIMEOUT_S)
    command = " ".join(argv)
    if result.timed_out:
        raise _Hung(f"{command}: {result.why(limit_s)}")
    if result.rc != 0:
        reasons[f"{argv[0] if result.missing else command}: {result.why(limit_s)}"] = None
    return result.out[:LIMIT]


def _names(text: str, reasons: dict[str, None]) -> dict[str, str]:
    names = smi_output.parse_names(text)
    if text and not names:
        reasons[f"{' '.join(NAMES)} names no GPU"] = None
    return names


def _links(budget: Budget, reasons: dict[str, None]) -> dict[tuple[str, str], str]:
    text = _run(budget, LINKS, reasons)
    topology = smi_output.parse_topology(text)
    links = _by_address(topology)
    if text and not links:
        reasons.update({f"{' '.join(LINKS)}: {complaint}": None for complaint in topology.complaints})
        links = _by_address(parse_tables(_run(budget, LINK_TABLES, reasons)))
        if not links:
            reasons[f"{' '.join(LINK_TABLES)} has no link types"] = None
    return links


def _by_address(topology: ToolTables) -> dict[tuple[str, str], str]:
    """Return the links between GPUs whose addresses are known: the tools' numbers differ from ROCm's."""
    relations = {}
    for pair, word in link_types(topology).items():
        ends = sorted(topology.addresses[number] for number in pair if number in topology.addresses)
        if len(ends) == 2:
            relations[ends[0], ends[1]] = word
    return relations


def _series(topology: ToolTables) -> dict[str, str]:
    """Return the product names that rocm-smi printed, by PCI address."""
    names = {}
    for number, details in topology.devices.items():
        name = details.get("card series", "N/A")
        if number in topology.addresses and name not in ("", "N/A"):
            names[topology.addresses[number]] = name
    return names
