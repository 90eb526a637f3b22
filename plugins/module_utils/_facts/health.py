# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node is, part by part.

Each reader is imported where it is asked for: on the node every file of a module is compiled anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .._host.host import Host

if TYPE_CHECKING:
    from .._records.health import (
        Clock,
        DeviceFile,
        Engine,
        GpuHealth,
        Interface,
        KernelLog,
        Memory,
        Processes,
        Reach,
        Resolution,
        Sudo,
    )
    from .query import FactsQuery


def probes(host: Host, query: FactsQuery) -> dict[str, Callable[[], Any]]:
    """Return the probe of every part by its name, which is that of the subset and of the field of NodeFacts."""

    def clock() -> Clock | None:
        from .._system.clock import read_clock

        return read_clock(host, query.asked_at)

    def names() -> dict[str, Resolution]:
        from .._net.names import read_names

        return read_names(host, query.names)

    def devices() -> list[DeviceFile]:
        from .._system.device_nodes import read_devices

        return read_devices(host)

    def engine() -> Engine | None:
        from .._container.engine import read_engine

        return read_engine(host, query.docker, query.images)

    def reach() -> list[Reach] | None:
        from .._net.reach import read_reach

        return read_reach(host, query.reach)

    def kernel_log() -> KernelLog | None:
        from .._system.kernel_log import read_kernel_log

        return read_kernel_log(host, query.as_root)

    def processes() -> Processes:
        from .._system.processes import read_processes

        return read_processes(host)

    def memory() -> Memory:
        from .._system.memory import read_memory

        return read_memory(host)

    def sudo() -> Sudo | None:
        from .._system.sudo import read_sudo

        return read_sudo(host)

    def interfaces() -> dict[str, Interface] | None:
        from .._net.interfaces import read_interfaces

        return read_interfaces(host)

    def gpu_health() -> GpuHealth:
        from .._gpu.health import read_gpu_health

        return read_gpu_health(host)

    every = (clock, names, devices, engine, reach, kernel_log, processes, memory, sudo, interfaces, gpu_health)
    return {probe.__name__: probe for probe in every}
