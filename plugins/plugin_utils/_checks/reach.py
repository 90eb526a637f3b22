# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes reach the head, and does every node accept connections that another one begins?"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._records.health import Reach

from .._cluster.connections import TriedConnection
from .._cluster.node import Node
from .._text.table import names
from .model import Cluster, Outcome, Outcomes, failed, passed, skipped, unavailable

ANSWERS = ("connected", "refused")
SOURCE = "a TCP connection"
# What a connection that did not come about usually means where the way between the two is known to work.
MEANINGS = {
    "timeout": "dropped without an answer, as a firewall or a cloud's security group does",
    "unreachable": "rejected, as a firewall does (icmp-host-prohibited), or without a route",
}
REMEDY = (
    "let it accept all TCP ports from the other nodes: set firewall_state: present and run setup --tags firewall, put "
    "the interface into a trusted zone (firewall-cmd --zone=trusted --add-interface=NAME), or change the cloud's "
    "security group"
)


def reach(cluster: Cluster) -> Outcomes:
    """Judge the connections to the head, and those that other nodes began to each node."""
    for node in cluster.nodes.values():
        tried = cluster.connections.get(node.name, ())
        yield from ((node.name, outcome) for outcome in _judge(node, tried))


def _judge(node: Node, tried: tuple[TriedConnection, ...]) -> Iterator[Outcome]:
    to_head = _to_head(node)
    failures = [item for item in tried if item.result is not None and item.result.result not in ANSWERS]
    if failures:
        yield _not_accepted(failures)
    if not failures or to_head.status in ("fail", "error"):
        sources = names([item.source for item in tried if item.result is not None])
        is_silent = bool(sources) and to_head.status == "skip"
        yield passed(f"accepts connections from {sources}", SOURCE) if is_silent else to_head


def _not_accepted(failures: list[TriedConnection]) -> Outcome:
    """Return that a node does not accept what others begin, by the first such connection."""
    first, result = failures[0], failures[0].result or Reach(failures[0].address, failures[0].port, "unknown")
    why = result.error or result.result
    meaning = MEANINGS.get(result.result)
    sources = names([item.source for item in failures])
    return failed(
        f"{sources} cannot connect to {first.text} here: {why}{f' ({meaning})' if meaning else ''}",
        "every node accepts connections of every other at any port, as NCCL and Gloo need them",
        SOURCE,
        REMEDY,
    )


def _to_head(node: Node) -> Outcome:
    """Find nodes that do not reach the head; a port that refuses the connection counts as reached."""
    attempts = node.facts.reach
    if attempts is None:
        return unavailable("no connection to the head was tried", "reach")
    if not attempts:
        return skipped("there is no address to reach")
    texts = {attempt: f"{attempt.address}:{attempt.port} {attempt.result}" for attempt in attempts}
    failures = [attempt for attempt in attempts if attempt.result not in ANSWERS]
    if not failures:
        return passed(", ".join(texts.values()), SOURCE)
    return failed(
        "; ".join(f"{texts[item]} ({item.error})" if item.error else texts[item] for item in failures),
        "connected, or refused by the head while nothing listens there",
        SOURCE,
        "look at firewall and routes between the two; ranks need the whole range of ports open among the nodes",
    )
