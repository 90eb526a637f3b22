# SPDX-License-Identifier: GPL-3.0-or-later
"""What one link carries in one direction, in GB/s of 10^9 bytes: vendors' figures, which give both directions."""

from __future__ import annotations

import re

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen


@frozen
class LinkFigure:
    """The links of a kind of GPU: GB/s of one in one direction, and how many a GPU has."""

    gb_per_s: float
    count: int


# NVLink by NVIDIA's data sheets: V100 300 GB/s in both directions over 6 links, A100 600 over 12, H100 and H200 900
# over 18, H800 and A800 400 over 8, B200 and GB200 1800 over 18.
NVLINK = (
    (re.compile(r"\bG?B[23]00\b"), LinkFigure(50.0, 18)),
    (re.compile(r"\bH800\b"), LinkFigure(25.0, 8)),
    (re.compile(r"\bG?H(?:20|100|200)\b"), LinkFigure(25.0, 18)),
    (re.compile(r"\bA800\b"), LinkFigure(25.0, 8)),
    (re.compile(r"\bA100\b"), LinkFigure(25.0, 12)),
    (re.compile(r"\bV100\b"), LinkFigure(25.0, 6)),
)
# xGMI by AMD's data sheets: MI300X and MI325X 128 GB/s in both directions for each of 7 peers, MI350X and MI355X 153.6.
XGMI = (
    (re.compile(r"\bMI3(?:00|25)X\b"), LinkFigure(64.0, 7)),
    (re.compile(r"\bMI35[05]X\b"), LinkFigure(76.8, 7)),
)
# A lane of PCIe by generation: its transfers per second, times the coding (8b/10b, from the third on 128b/130b; the
# sixth has 242 bytes of data in a flit of 256).
PCIE_LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


def figure_of(table: tuple[tuple[re.Pattern[str], LinkFigure], ...], name: str | None) -> LinkFigure | None:
    """Return the figure for a GPU's name, None for one that is not in the table."""
    return next((figure for pattern, figure in table if name and pattern.search(name)), None)


def pcie(width: int | None, generation: int | None) -> float | None:
    """Return what a PCIe link carries, None where its lanes or its generation are not known."""
    lane = PCIE_LANE.get(generation or 0)
    return lane * width if lane and width else None
