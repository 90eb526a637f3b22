# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The thresholds of checks: their defaults, and where these come from.

The role's defaults are the same, a test holds them together; a finding names the variable and the source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A number that a check compares with; source is who says so."""

    name: str
    default: float
    unit: str
    source: str


TABLE = (
    Threshold("clock_warn", 1, "s", "logs are merged by time"),
    Threshold("clock_fail", 15, "s", "torch elastic, keep-alive of the rendezvous: 5 s, 3 attempts"),
    Threshold("disk_warn", 80, "%", "facebookresearch/gcm, check of blocks"),
    Threshold("disk_fail", 95, "%", "imbue-ai/cluster-health, file systems"),
    Threshold("inodes_fail", 10000, "files", "a run writes some files for each rank"),
    Threshold("shm", 8, "GiB", "ROCm/cvs, node_smoke"),
    Threshold("memory_spread", 5, "%", "Azure/azurehpc-health-checks, check_hw_physmem"),
    Threshold("link_downed", 10, "times", "counters since the driver was loaded; a switch that restarts counts too"),
    Threshold("symbol_error", 120, "times", "NVIDIA/NVSentinel, symbol_error in an hour"),
    Threshold("other_errors", 0, "times", "NVIDIA/NVSentinel, integrity and overrun errors: any is fatal"),
)
NAMES = tuple(threshold.name for threshold in TABLE)
_DEFAULTS = {threshold.name: threshold for threshold in TABLE}


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """The thresholds of a cluster; what the inventory does not set is as by default."""

    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def value(self, name: str) -> float:
        """Return the number."""
        return float(self.given.get(name, _DEFAULTS[name].default))

    def source(self, name: str) -> str:
        """Say which variable it is, and who says so where it is the default."""
        each, value = _DEFAULTS[name], self.value(name)
        why = each.source if value == each.default else "as set"
        return f"preflight_{name} {value:g} {each.unit}: {why}"
