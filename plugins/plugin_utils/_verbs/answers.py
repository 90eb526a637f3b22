# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes' answers to `node_facts`, with what the inventory sets for each node alone."""

from __future__ import annotations

from .._cluster.node import REACH, NodeAnswer, read_answers
from .._findings.origin import LAUNCH_NODE_ENV
from .._text.plain import plain
from .step import Play

OF_NODE = {"launch_node_env": LAUNCH_NODE_ENV}


def read_node_answers(play: Play, register: str) -> list[NodeAnswer]:
    """Return what a task has registered for each node of the request under this name, in node-rank order."""
    nodes = play.request["nodes"]
    hosts = {
        node: {**play.read_values(node, (*REACH, *OF_NODE)), register: plain(play.read_answer(node, register))}
        for node in nodes
    }
    return read_answers(hosts, nodes, register, OF_NODE)
