# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that the probes import while they run, imported before they start.

Before Python 3.10 a thread can see a module that another thread has only partly loaded from the payload's zip
(zipimport had no exec_module), and fails with an ImportError.
"""

from __future__ import annotations

from types import ModuleType

from .._container import apptainer, service
from .._gpu.amd import devices as amd_devices
from .._gpu.amd import health as amd_health
from .._gpu.nvidia import devices as nvidia_devices
from .._gpu.nvidia import health as nvidia_health
from .._software import changes, profilers, script, tree
from .._system import gpu_processes, processes


def readers() -> tuple[ModuleType, ...]:
    """Return the readers, all of them imported."""
    return (
        amd_devices,
        amd_health,
        nvidia_devices,
        nvidia_health,
        changes,
        tree,
        profilers,
        script,
        gpu_processes,
        processes,
        service,
        apptainer,
    )
