# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory sets for checks: levels, the profile, and thresholds with their defaults and sources.

A test keeps the role's defaults the same. A finding names the variable and the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

Level = Literal["fail", "warn", "off"]
LEVELS: tuple[Level, ...] = ("fail", "warn", "off")
PROFILE = "preflight_expected"


@frozen
class Threshold:
    """A number that a check compares with; source is where the default comes from."""

    name: str
    default: float
    unit: str
    source: str


THRESHOLDS = (
    Threshold("clock_warn", 1, "s", "logs are merged by time"),
    Threshold("clock_fail", 15, "s", "torch elastic, keep-alive of the rendezvous: 5 s, 3 attempts"),
    Threshold("disk_warn", 80, "%", "facebookresearch/gcm, check of blocks"),
    Threshold("disk_fail", 95, "%", "imbue-ai/cluster-health, file systems"),
    Threshold("disk_least", 0.25, "GiB", "logs and state of a run, whatever the percentage"),
    Threshold("disk_enough", 200, "GiB", "room for any run's logs and outputs, whatever the percentage"),
    Threshold("inodes_fail", 10000, "files", "a run writes some files for each rank"),
    Threshold("shm", 8, "GiB", "ROCm/cvs, node_smoke"),
    Threshold("memory_spread", 5, "%", "Azure/azurehpc-health-checks, check_hw_physmem"),
    Threshold("link_downed", 10, "times", "counters since the driver was loaded; a switch that restarts counts too"),
    Threshold("symbol_error", 120, "times", "NVIDIA/NVSentinel, symbol_error in an hour"),
    Threshold("other_errors", 0, "times", "NVIDIA/NVSentinel, integrity and overrun errors: any is fatal"),
)
# Programs that use GPUs beside runs: the desktop, and what watches the GPUs.
ALLOWED_PROCESSES = (
    *("Xorg", "gnome-shell", "nvidia-persistenced", "nv-hostengine"),
    *("dcgm-exporter", "amd-smi", "rocm-smi"),
)
_DEFAULTS = {threshold.name: threshold for threshold in THRESHOLDS}


@frozen
class CheckPolicy:
    """Levels by check, what to expect of every node, and the thresholds that the inventory sets."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    allowed_processes: tuple[str, ...] = ALLOWED_PROCESSES

    def threshold(self, name: str) -> float:
        return self.thresholds.get(name, _DEFAULTS[name].default)

    def source(self, name: str) -> str:
        """Name the variable of a threshold, its value, and the source of a default."""
        threshold, value = _DEFAULTS[name], self.threshold(name)
        why = threshold.source if value == threshold.default else "as set"
        return f"preflight_{name} {value:g} {threshold.unit}: {why}"


BY_DEFAULT = CheckPolicy()
