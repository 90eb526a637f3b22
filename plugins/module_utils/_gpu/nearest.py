# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HCAs nearest to each GPU."""

from __future__ import annotations

from collections.abc import Iterable

from .._records.gpu import RELATIONS, Nearest, NicLink


def nearest_nics(links: Iterable[NicLink]) -> list[Nearest]:
    """Return for each GPU the smallest relation found and all HCAs that have it: PXB on a DGX A100, SYS on GB200."""
    relations_by_gpu: dict[int, dict[str, list[str]]] = {}
    for link in links:
        if link.relation in RELATIONS:
            relations_by_gpu.setdefault(link.gpu, {}).setdefault(link.relation, []).append(link.nic)
    return [
        Nearest(gpu, relation, relations[relation])
        for gpu, relations in sorted(relations_by_gpu.items())
        for relation in [min(relations, key=RELATIONS.index)]
    ]
