# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reports of all nodes prove of a run's fabric, and how that reads. The runner takes this file along."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from .._text.printable import clean
from .transport import FAIL, PASS, UNKNOWN, NodeTransport, ReadVariable, TransportFinding, TransportVerdict

NO_REPORT = TransportFinding(
    "nccl log", None, "no report of its runner", "a log of each rank", "look at its runner.log"
)


def conclude(
    nodes: Mapping[str, NodeTransport | None], connected: Collection[str], is_settled: bool
) -> TransportVerdict | None:
    """Return the verdict over all nodes of a run, None while more is to come.

    nodes: their reports in the order of the nodes, None of one that has sent none. connected: the nodes whose report
    was made when all connections had been made. is_settled: what a node has not shown by now it will not show.
    """
    reports = {name: report for name, report in nodes.items() if report is not None}
    failed = [
        name
        for name, report in reports.items()
        if report.verdict == FAIL and (report.is_certain or is_settled or name in connected)
    ]
    proved = [name for name, report in reports.items() if report.verdict == PASS and (is_settled or name in connected)]
    if failed:
        return _verdict(FAIL, nodes, failed)
    if len(proved) == len(nodes):
        return _verdict(PASS, nodes, [])
    return _verdict(UNKNOWN, nodes, [name for name in nodes if name not in proved]) if is_settled else None


def _verdict(verdict: str, nodes: Mapping[str, NodeTransport | None], against: list[str]) -> TransportVerdict:
    reports = {name: report for name, report in nodes.items() if report is not None}
    gdrs = {report.gdr for report in reports.values()}
    least = min(reports.values(), key=lambda report: report.nics - report.wanted_nics, default=NodeTransport())
    differing = next((name for name, report in reports.items() if report.variables), None)
    made = TransportVerdict(
        verdict=verdict,
        nodes=len(nodes),
        networks=sorted({network for report in reports.values() for network in report.networks}),
        gdr=next(iter(gdrs)) if len(gdrs) == 1 else None,
        nics=least.nics,
        wanted_nics=least.wanted_nics,
        variables=reports[differing].variables if differing else [],
        variables_node=differing,
    )
    if not against:
        return made
    report = nodes[against[0]]
    finding = report.finding if report is not None and report.finding is not None else NO_REPORT
    return dataclasses.replace(made, node=against[0], others=len(against) - 1, finding=finding)


def describe(verdict: TransportVerdict) -> str:
    """Return the verdict in one line: `IB + GDRDMA on 8/8 NICs, 2 nodes`, or why it is none."""
    if verdict.verdict == PASS:
        networks = " and ".join(verdict.networks)
        gdr = {True: " + GDRDMA", False: " without GDRDMA", None: ""}[verdict.gdr]
        nics = f"{verdict.nics}/{verdict.wanted_nics}" if verdict.wanted_nics else str(verdict.nics)
        on = f" on {nics} NIC{'s' * (nics != '1')}" if verdict.nics else ""
        return clean(f"{networks}{gdr}{on}, {verdict.nodes} nodes")
    finding = verdict.finding or NO_REPORT
    ranks = "" if not finding.ranks else f" (rank{'s' * (not finding.ranks.isdigit())} {finding.ranks})"
    others = "" if not verdict.others else f" and {verdict.others} more node{'s' * (verdict.others != 1)}"
    remedy = f"; {finding.remedy}" if finding.remedy else ""
    text = f"{verdict.node}{ranks}{others}: {finding.observed}, expected {finding.expected}{remedy}"
    return clean(f"{'not proved' if verdict.verdict == UNKNOWN else 'not as planned'}: {text}")


def describe_variables(verdict: TransportVerdict) -> list[str]:
    """Return a line for each variable that NCCL did not read as planned."""
    return [clean(f"{verdict.variables_node}: {_difference(item)}") for item in verdict.variables]


def _difference(item: ReadVariable) -> str:
    planned = f"{item.name}={item.planned} of the plan ({item.origin})"
    if item.read is None:
        return f"NCCL does not say that it read {planned}"
    source = f"from {item.source}" if item.source else "from a place that the launch does not know"
    if item.planned is None:
        return f"NCCL read {item.name}={item.read} {source}, which the plan does not have"
    return f"NCCL read {item.name}={item.read} {source} instead of {planned}"
