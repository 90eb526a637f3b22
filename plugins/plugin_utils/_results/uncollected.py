# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of the outputs that stay on the nodes when a run is collected."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .infos import Info

# Nodes that are named one by one; of a large file system of many nodes one line is enough for the others.
NODES = 4
UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def lines(infos: Iterable[Info]) -> list[str]:
    """Return what stays on which node, in number and size, and why; nothing where everything was collected."""
    texts = [(info.node, text) for info in infos for text in _texts(info)]
    nodes = list(dict.fromkeys(node for node, _text in texts))
    shown = [clean(f"  {node}: {text}") for node, text in texts if node in nodes[:NODES]]
    others = len(nodes) - NODES
    return [*shown, *([f"  output files also stay on {others} more node{'s' * (others != 1)}"] if others > 0 else [])]


def size_text(count: int) -> str:
    """Return a size in the unit that suits it: ``1.5 GiB``, ``12 bytes``."""
    for unit, size in UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} byte{'s' * (count != 1)}"


def _texts(info: Info) -> list[str]:
    remaining = info.remaining
    if remaining is None:
        return []
    texts = []
    if remaining.excluded:
        least = "at least " * remaining.uncounted
        stay = _stay(remaining.excluded, remaining.excluded_bytes)
        texts.append(f"{least}{stay} on the node (launch_collect_exclude)")
    if remaining.large:
        named = [f"{file.path} ({size_text(file.size)})" for file in remaining.largest]
        more = ["…"] if remaining.large > len(named) else []
        stay = _stay(remaining.large, remaining.large_bytes)
        texts.append(f"{stay} on the node (launch_collect_limit_mib): {', '.join([*named, *more])}")
    return texts


def _stay(files: int, size: int) -> str:
    return (
        f"1 output file ({size_text(size)}) stays" if files == 1 else f"{files} output files ({size_text(size)}) stay"
    )
