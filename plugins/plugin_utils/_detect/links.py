# SPDX-License-Identifier: GPL-3.0-or-later
"""The links between the GPUs of a node, in words.

RELATIONS are paths through PCI; any other word (NV18, XGMI) is a direct link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS, Gpu, Link, Nearest

# Words that only mean "through PCI" (rocm-smi: PCIE), and words for the GPU itself.
_NOT_DIRECT = frozenset({*RELATIONS, "PCIE", "X", "SELF"})
ODD_PAIRS_SHOWN = 8
NICS_SHOWN = 4


def is_direct(relation: str) -> bool:
    """Whether a relation is a direct link between GPUs, NVLink or xGMI, not a path through PCI."""
    return relation.upper() not in _NOT_DIRECT


def word(link: Link) -> str:
    """Return the vendor's word, with the number of links if the word does not contain it: XGMI x2."""
    if link.count and is_direct(link.relation) and not link.relation[-1:].isdigit() and link.count > 1:
        return f"{link.relation} x{link.count}"
    return link.relation


def kind(links: Iterable[Link]) -> str:
    """Return the name of the GPUs' direct links."""
    words = {link.relation.upper() for link in links if is_direct(link.relation)}
    if not words:
        return ""
    return "xGMI" if all("XGMI" in text for text in words) else "NVLink"


def all_to_all(gpu: Gpu) -> bool:
    """Whether every pair of GPUs has a direct link."""
    indexes = [device.index for device in gpu.devices]
    pairs = {frozenset((link.a, link.b)) for link in gpu.links if is_direct(link.relation)}
    return len(indexes) > 1 and all(frozenset((a, b)) in pairs for a in indexes for b in indexes if a != b)


def summary(gpu: Gpu) -> str:
    """Summarize the links in one line: `all 28 pairs NV18`, or the number of pairs by word and the odd pairs."""
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
    """Return `PIX mlx5_0`; if many are equally near, only the first of them, since nearness selects none."""
    more = len(near.names) - NICS_SHOWN
    shown = ", ".join(near.names[:NICS_SHOWN])
    return f"{near.relation} {shown}{f' and {more} more' if more > 0 else ''}"
