# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of the outputs that stay on the nodes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.uncollected import NODES, lines, size_text


def info(node: str, remaining: Any) -> Info:
    return read_infos([(node, {"run": {"phase": "succeeded", "node": node}, "remaining": remaining})])[0]


LARGEST = [{"path": "outputs/big", "size": 3 << 30}, {"path": "outputs/\x1b[2Jb", "size": 1}]
INFOS = [
    info("node0", {"excluded": 1, "excluded_bytes": 12}),
    info("node1", {"excluded": 10000, "excluded_bytes": 5 << 20, "uncounted": True}),
    info("node2", {"large": 3, "large_bytes": (3 << 30) + 2, "largest": LARGEST}),
    info("node3", {"excluded": 0, "large": 0}),
    info("node4", None),
]
MANY = [info(f"node{number}", {"excluded": 2, "excluded_bytes": 2048}) for number in range(128)]


@pytest.mark.parametrize("remaining", ["x", 1, [], {"excluded": "x", "largest": [{"size": "x"}, 3], "large": 1e999}])
def test_a_node_may_answer_anything(remaining: Any) -> None:
    assert lines([info("node0", remaining)]) == []


def test_of_many_nodes_the_first_are_shown() -> None:
    assert len(lines(INFOS)) == 3
    assert len(lines(MANY)) == NODES + 1


def test_sizes() -> None:
    assert [size_text(count) for count in (0, 1, 1023, 1536, 1 << 40)] == [
        "0 bytes",
        "1 byte",
        "1023 bytes",
        "1.5 KiB",
        "1024.0 GiB",
    ]
