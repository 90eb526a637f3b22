# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of the outputs that stay on the nodes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.remaining import lines, size_text


def info(node: str, remaining: Any) -> Info:
    return read_infos([(node, {"run": {"phase": "succeeded", "node": node}, "remaining": remaining})])[0]


def test_number_and_size_are_told_and_the_largest_are_named() -> None:
    largest = [{"path": "outputs/big", "size": 3 << 30}, {"path": "outputs/\x1b[2Jb", "size": 1}]
    infos = [
        info("node0", {"excluded": 1, "excluded_bytes": 12}),
        info("node1", {"excluded": 10000, "excluded_bytes": 5 << 20, "uncounted": True}),
        info("node2", {"large": 3, "large_bytes": (3 << 30) + 2, "largest": largest}),
        info("node3", {"excluded": 0, "large": 0}),
        info("node4", None),
    ]
    assert lines(infos) == [
        "  node0: 1 output file (12 bytes) stays on the node (launch_collect_exclude)",
        "  node1: at least 10000 output files (5.0 MiB) stay on the node (launch_collect_exclude)",
        "  node2: 3 output files (3.0 GiB) stay on the node (launch_collect_limit_mib): outputs/big (3.0 GiB), "
        "outputs/b (1 byte), …",
    ]


@pytest.mark.parametrize("remaining", ["x", 1, [], {"excluded": "x", "largest": [{"size": "x"}, 3], "large": 1e999}])
def test_a_node_may_answer_anything(remaining: Any) -> None:
    assert lines([info("node0", remaining)]) == []


def test_of_many_nodes_the_first_are_shown() -> None:
    infos = [info(f"node{number}", {"excluded": 2, "excluded_bytes": 2048}) for number in range(128)]
    assert len(lines(infos)) == 5
    assert lines(infos)[-1] == "  output files also stay on 124 more nodes"
    assert lines(infos[:5])[-1] == "  output files also stay on 1 more node"


def test_sizes() -> None:
    assert [size_text(count) for count in (0, 1, 1023, 1536, 1 << 40)] == [
        "0 bytes",
        "1 byte",
        "1023 bytes",
        "1.5 KiB",
        "1024.0 GiB",
    ]
