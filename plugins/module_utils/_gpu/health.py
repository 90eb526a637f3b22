# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of a node's GPUs: ECC, links, throttling.

It is separate from devices.py, because reading every counter of every GPU takes seconds.
"""

from __future__ import annotations

from .._host.host import Host
from .._records.health import GpuHealth
from .devices import read_presence


def read_gpu_health(host: Host) -> GpuHealth:
    """Return the state of the GPUs that can be opened."""
    vendor, count = read_presence(host)
    if not count:
        return GpuHealth(devices=[])
    if vendor == "nvidia":
        from .nvidia.health import read_nvidia_health

        return read_nvidia_health(host)
    from .amd.health import read_amd_health

    return read_amd_health(host)
