# SPDX-License-Identifier: GPL-3.0-or-later
"""What pairs of nodes have measured, as a person reads it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.pairs import (
    BANDWIDTH,
    LATENCY,
    LINK,
    MEASURED,
    MTU,
    RAIL,
    REACH,
    RESENT,
    Culprit,
    Deviation,
)

from ..._page.page import count
from ..._request.byte_size import size_text
from ..._results.rows import number_text
from ..._text.ranges import fold
from ..benchmark.text import bandwidth, percent
from .outcome import NodeThird, PairsOutcome

HEADERS = ("node", "measurements", "failed", "latency us", "GB/s", "sent again", "segment bytes", "")
# So many nodes have a row each; of more, the slowest and those that are named.
MOST_ROWS = 24
MOST_FAILURES, MOST_GROUPS = 3, 4
UNRELIABLE = "unreliable"
REMEDY_OF_GROUPS = "check the switches between them, their routes and firewalls (the ranks use any port)"
REMEDY_OF_FAILURES = "see pairs.json for what each of them said, and measure again with more -e rounds=N"
REMEDY_OF_SUSPECTS = "see pairs.json for them, and measure again, or fewer nodes with -e nnodes=N"
REMEDIES = {
    REACH: "check its cable, switch port, firewall (the ranks use any port) and MTU",
    MTU: "set the MTU of the others: ip link set dev NAME mtu N, and on the switch",
    RESENT: "look for errors of its cable and port: ethtool -S NAME, and the counters of the switch",
    BANDWIDTH: "check the speed of its link (ethtool NAME, ibstat), its PCIe lanes, and what else uses it",
    LATENCY: "check what else uses its link and processor, and the way to its switch",
}


def title(outcome: PairsOutcome) -> str:
    """Return what was measured, in one line."""
    search = outcome.search
    links = len({sample.pair for sample in search.samples})
    all_links = search.nodes * (search.nodes - 1) // 2
    what = f"{links:,} of {all_links:,} links between {count(search.nodes, 'node')}"
    return f"{what} measured in {count(search.rounds, 'round')}, {outcome.backend} with {size_text(outcome.size)}"


def conclusion(outcome: PairsOutcome) -> str:
    """Return what the search has found, in one line."""
    search = outcome.search
    named = [name_of(outcome, culprit) for culprit in search.culprits]
    parts = [f"slow or broken: {', '.join(named[:8])}{', …' if len(named) > 8 else ''}"] if named else []
    parts += [text for text, _remedy in doubts(outcome)]
    if search.reason and not parts:
        parts.append(f"cannot be told: {search.reason}")
    if parts:
        return "; ".join(parts)
    healthy = f"no node, rail or link is slower than the others by more than {outcome.tolerance} % and noise"
    failed = sum(sample.outcome != MEASURED for sample in search.samples)
    return healthy + (f"; {count(failed, 'measurement')} failed and worked when repeated" if failed else "")


def doubts(outcome: PairsOutcome) -> list[tuple[str, str]]:
    """Return what is wrong though nothing can be named for it, each with what to do."""
    search = outcome.search
    texts = []
    if search.groups:
        groups = [", ".join(fold(outcome.names_in(group))) for group in search.groups]
        shown = " and ".join(groups[:MOST_GROUPS]) + (
            f" and {len(groups) - MOST_GROUPS} more" * (len(groups) > MOST_GROUPS)
        )
        texts.append((f"{shown} do not reach each other", REMEDY_OF_GROUPS))
    if search.unnamed and search.unnamed == len(search.samples):
        texts.append((search.reason, REMEDIES[REACH]))
    elif search.unnamed:
        failed = sum(sample.outcome != MEASURED for sample in search.samples)
        what = f"{failed} of {count(len(search.samples), 'measurement')} failed"
        also = "" if search.unnamed == failed else f", and {search.unnamed} of these have no cause that can be named"
        texts.append((f"{what}{also or ' and nothing could be named'}", REMEDY_OF_FAILURES))
    if search.unmeasured:
        texts.append((f"{count(search.unmeasured, 'suspect')} could not be measured again", REMEDY_OF_SUSPECTS))
    return texts


def findings(outcome: PairsOutcome) -> list[tuple[list[str], str]]:
    """Return a line for each culprit, those that are alike together, and for each doubt, with what to do."""
    alike = itertools.groupby(outcome.search.culprits, lambda culprit: culprit.deviations[0].metric)
    return [([finding(outcome, culprit) for culprit in culprits], REMEDIES[worst]) for worst, culprits in alike] + [
        ([doubt], remedy) for doubt, remedy in doubts(outcome)
    ]


def finding_lines(outcome: PairsOutcome) -> list[str]:
    """Return the findings as lines."""
    return [line for lines, remedy in findings(outcome) for line in (*lines, f"  remedy: {remedy}")]


def finding(outcome: PairsOutcome, culprit: Culprit) -> str:
    """Return what is wrong with a culprit."""
    measured = "; ".join(_deviation(item, culprit) for item in culprit.deviations)
    repeated = f"{count(culprit.measurements, 'repeated measurement')}"
    again = f"in {repeated}" if _state(culprit) == UNRELIABLE else f"in each of {repeated}"
    return f"{name_of(outcome, culprit)} is {_state(culprit)}: {measured}, {again}"


def name_of(outcome: PairsOutcome, culprit: Culprit) -> str:
    """Return the name of a culprit: `n3`, `rail 5 of n3`, `the link between n3 and n4`."""
    names = outcome.names_of(culprit)
    where = f"the link between {' and '.join(names)}" if culprit.kind == LINK else names[0] if names else "all nodes"
    if culprit.rail is None:
        return where
    return f"rail {culprit.rail} of {where}" if culprit.kind == RAIL else f"{where} on rail {culprit.rail}"


def rows(nodes: Sequence[NodeThird], outcome: PairsOutcome) -> list[list[str]]:
    """Return the rows of the table, below HEADERS."""
    remarks: dict[str, str] = {}
    for culprit in outcome.search.culprits:
        for name in outcome.names_of(culprit):
            remarks[name] = f"{_state(culprit)} link" if culprit.kind == LINK else _state(culprit)
    return [
        [
            node.node,
            str(node.measurements),
            str(node.failed or ""),
            "" if node.latency_us is None else number_text(node.latency_us),
            "" if node.bandwidth_gb_per_s is None else bandwidth(node.bandwidth_gb_per_s),
            "" if node.resent is None else f"{100 * node.resent:.2f} %",
            "" if node.segment is None else str(node.segment),
            remarks.get(node.node, ""),
        ]
        for node in nodes
    ]


def shown_nodes(outcome: PairsOutcome) -> list[NodeThird]:
    """Return the nodes that the table has: all of a few, else those that are named and the slowest."""
    nodes = outcome.nodes
    if len(nodes) <= MOST_ROWS:
        return nodes
    named = {name for culprit in outcome.search.culprits for name in outcome.names_of(culprit)}
    slowest = sorted(nodes, key=lambda node: (node.node not in named, -node.failed, node.bandwidth_gb_per_s or 0.0))
    return slowest[:MOST_ROWS]


def facts(outcome: PairsOutcome) -> list[tuple[str, str]]:
    """Return what the table means, as names and texts."""
    pairs = [("result", conclusion(outcome))]
    failed = [sample for sample in outcome.search.samples if sample.outcome != MEASURED]
    if failed:
        first = [
            f"{outcome.names[sample.first]} and {outcome.names[sample.second]}: {sample.why}"
            for sample in failed[:MOST_FAILURES]
        ]
        more = f"; and {len(failed) - MOST_FAILURES} more" if len(failed) > MOST_FAILURES else ""
        pairs.append(
            ("failed", f"{len(failed)} of {len(outcome.search.samples)} measurements: {'; '.join(first)}{more}")
        )
    return pairs


def _state(culprit: Culprit) -> str:
    worst = culprit.deviations[0]
    if worst.metric != REACH:
        return "slow"
    return UNRELIABLE if worst.value else "broken"


def _deviation(item: Deviation, culprit: Culprit) -> str:
    if item.metric == REACH:
        why = f" ({culprit.why})" if culprit.why else ""
        return f"none of its measurements worked{why}" if item.value == 0 else f"only {percent(item.value)} worked{why}"
    if item.metric == MTU:
        return f"segments of {item.value:.0f} bytes against {item.typical:.0f}"
    if item.metric == RESENT:
        return f"{100 * item.value:.1f} % of its segments were sent again, against {100 * item.typical:.2f} %"
    if item.metric == BANDWIDTH:
        return f"{bandwidth(item.value / 1e9)} GB/s against {bandwidth(item.typical / 1e9)}"
    return f"latency {number_text(item.value * 1e6)} us against {number_text(item.typical * 1e6)}"
