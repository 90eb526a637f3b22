# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies between the GPUs of a node, in words.

RELATIONS are ways through PCI; any other word (NV18, XGMI) is a link of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS, Gpu, Link, Nearest

# Words for "through PCI" that say no more than that (rocm-smi: PCIE), and for oneself.
_NOT_OWN = frozenset({*RELATIONS, "PCIE", "X", "SELF"})
ODD_PAIRS_SHOWN = 8
NICS_SHOWN = 4


def own(relation: str) -> bool:
    """Whether a relation is a link of the GPUs' own, NVLink or xGMI, and no way through PCI."""
    return relation.upper() not in _NOT_OWN


def word(link: Link) -> str:
    """The vendor's word, with the number of links where the word does not hold it: XGMI x2."""
    if link.count and own(link.relation) and not link.relation[-1:].isdigit() and link.count > 1:
        return f"{link.relation} x{link.count}"
    return link.relation


def kind(links: Iterable[Link]) -> str:
    """What the GPUs' own links are called."""
    words = {link.relation.upper() for link in links if own(link.relation)}
    if not words:
        return ""
    return "xGMI" if all("XGMI" in each for each in words) else "NVLink"


def all_to_all(gpu: Gpu) -> bool:
    """Whether every two GPUs have a link of their own."""
    indexes = [device.index for device in gpu.devices]
    pairs = {frozenset((link.a, link.b)) for link in gpu.links if own(link.relation)}
    return len(indexes) > 1 and all(frozenset((a, b)) in pairs for a in indexes for b in indexes if a != b)


def summary(gpu: Gpu) -> str:
    """Say it in one line: `all 28 pairs NV18`, or how many pairs have which word and which pairs are odd."""
    if len(gpu.devices) < 2:
        return ""
    if not gpu.links:
        return "not known"
    words = Counter(word(link) for link in gpu.links)
    if len(words) == 1:
        text = next(iter(words))
        return f"all {len(gpu.links)} pairs {text}" if len(gpu.links) > 1 else text
    (usual, most), *others = words.most_common()
    parts = [f"{most} pairs {usual}"]
    for text, number in others:
        pairs = [f"{link.a}-{link.b}" for link in gpu.links if word(link) == text]
        parts.append(f"{text} {_few(pairs)}" if number <= ODD_PAIRS_SHOWN else f"{number} pairs {text}")
    return ", ".join(parts)


def _few(pairs: Sequence[str]) -> str:
    return f"between {', '.join(pairs)}"


def nearest(near: Nearest) -> str:
    """`PIX mlx5_0`; where many are as near, the first of them: then nearness chooses nothing."""
    more = len(near.names) - NICS_SHOWN
    shown = ", ".join(near.names[:NICS_SHOWN])
    return f"{near.relation} {shown}{f' and {more} more' if more > 0 else ''}"
