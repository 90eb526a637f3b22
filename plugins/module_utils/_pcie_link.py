# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCIe link of a device: lanes and generation, now and at most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from . import _sysfs
from ._host import Host

# Documentation/ABI/testing/sysfs-bus-pci
ATTRIBUTES = ("current_link_width", "max_link_width", "current_link_speed", "max_link_speed")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s\b.*", re.ASCII)
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}


class PcieLink(NamedTuple):
    """None is unknown: a virtual function has no link of its own. An idle GPU may lower its generation."""

    width: int | None = None
    width_max: int | None = None
    gen: int | None = None
    gen_max: int | None = None


def parse_generation(text: str | None) -> int | None:
    """Return the generation of "32.0 GT/s PCIe"."""
    match = _SPEED.fullmatch(text or "")
    return GENERATIONS.get(float(match.group(1))) if match else None


def parse_width(text: str | None) -> int | None:
    """Return the lanes; 0 and 255 are the kernel's words for unknown."""
    number = _sysfs.number(text)
    return number if number is not None and 0 < number <= 64 else None


def parse_link(said: Mapping[str, str]) -> PcieLink:
    """Return the link of a device's attributes."""
    widths = [parse_width(said.get(name)) for name in ATTRIBUTES[:2]]
    speeds = [parse_generation(said.get(name)) for name in ATTRIBUTES[2:]]
    return PcieLink(widths[0], widths[1], speeds[0], speeds[1])


def read_link(host: Host, folder: str) -> PcieLink:
    """Return the link of the device in that folder."""
    return parse_link(_sysfs.texts(host, folder, ATTRIBUTES))
