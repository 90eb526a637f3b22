# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of a node's health. `gather` imports this file only for a query that has one of them."""

from __future__ import annotations

from typing import Any, Callable

from .._container.engine import read_engine
from .._gpu.health import read_gpu_health
from .._host.live import LiveHost
from .._memlock.services import read_services
from .._net.interfaces import read_interfaces
from .._net.names import read_names
from .._net.reach import read_reach
from .._rdma.health import read_rdma_health
from .._system.clock import read_clock
from .._system.device_nodes import read_devices
from .._system.kernel_log import read_kernel_log
from .._system.memory import read_memory
from .._system.processes import read_processes
from .._system.sudo import read_sudo
from .query import FactsQuery


def health_probes(host: LiveHost, query: FactsQuery) -> dict[str, Callable[[], Any]]:
    """Return the probe of each part by its name, which is that of the subset and of the field of NodeFacts."""
    return {
        "clock": lambda: read_clock(host, query.asked_at),
        "names": lambda: read_names(host, query.names),
        "devices": lambda: read_devices(host),
        "engine": lambda: read_engine(host, query.docker, query.images),
        "reach": lambda: read_reach(host, query.reach),
        "kernel_log": lambda: read_kernel_log(host, query.as_root),
        "processes": lambda: read_processes(host),
        "memory": lambda: read_memory(host),
        "sudo": lambda: read_sudo(host),
        "interfaces": lambda: read_interfaces(host),
        "gpu_health": lambda: read_gpu_health(host),
        "rdma_health": lambda: read_rdma_health(host),
        "services": lambda: read_services(host),
    }
