# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies between GPUs, in words."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, Nearest
from ansible_collections.muster.train.plugins.plugin_utils._detect.links import all_to_all
from ansible_collections.muster.train.plugins.plugin_utils._detect.links import kind as links_kind
from ansible_collections.muster.train.plugins.plugin_utils._detect.links import nearest as links_nearest
from ansible_collections.muster.train.plugins.plugin_utils._detect.links import summary as links_summary
from ansible_collections.muster.train.tests.support.detect_parts import all_pairs, dgx_h100, mi300x


def gpu(links: list[dict[str, Any]], count: int = 4) -> Gpu:
    return Gpu.from_dict(
        {"vendor": "nvidia", "count": count, "links": links, "devices": [{"index": n} for n in range(count)]}
    )


def odd(relation: str, a: int, b: int) -> list[dict[str, Any]]:
    """All pairs NV12, but one."""
    return [
        {**link, "relation": relation} if (link["a"], link["b"]) == (a, b) else link for link in all_pairs(4, "NV12")
    ]


HALF = [*all_pairs(8, "NV1")[:14], *({**link, "relation": "SYS"} for link in all_pairs(8, "NV1")[14:])]
# The links, the GPUs, and what is named of them.
SUMMARIES: list[tuple[list[dict[str, Any]], int, list[str]]] = [
    (all_pairs(8, "NV18"), 8, ["28", "NV18"]),
    (all_pairs(2, "SYS"), 2, ["SYS"]),
    (odd("SYS", 1, 3), 4, ["5", "NV12", "SYS", "1-3"]),
    (all_pairs(4, "XGMI", 2), 4, ["6", "XGMI", "x2"]),
    (all_pairs(4, "NV4", 4), 4, ["6", "NV4"]),
    (HALF, 8, ["14", "NV1", "14", "SYS"]),
    ([], 4, []),
]


@pytest.mark.parametrize(("links", "count", "named"), SUMMARIES)
def test_summary(links: list[dict[str, Any]], count: int, named: list[str]) -> None:
    words = links_summary(gpu(links, count)).replace(",", "").split()
    assert [word for word in words if not word.islower() or word == "x2"] == named


def test_one_gpu_has_no_links() -> None:
    assert links_summary(gpu([], 1)) == ""


@pytest.mark.parametrize(
    ("links", "whole"),
    [
        (all_pairs(4, "NV12"), True),
        (odd("SYS", 1, 3), False),
        (all_pairs(4, "PIX"), False),
        (all_pairs(3, "NV1"), False),
    ],
)
def test_all_to_all(links: list[dict[str, Any]], whole: bool) -> None:
    assert all_to_all(gpu(links)) is whole


def test_kind() -> None:
    assert links_kind(Gpu.from_dict(dgx_h100()["gpu"]).links) == "NVLink"
    assert links_kind(Gpu.from_dict(mi300x()["gpu"]).links) == "xGMI"
    assert links_kind(gpu(all_pairs(4, "PHB")).links) == ""


def test_nearest() -> None:
    assert links_nearest(Nearest(0, "PIX", ["mlx5_0"])) == "PIX mlx5_0"
    assert links_nearest(Nearest(0, "SYS", list("abcdef"))) == "SYS a, b, c, d and 2 more"
