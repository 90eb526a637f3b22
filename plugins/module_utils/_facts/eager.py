# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that the probes import while they run, imported before they start.

Before Python 3.10 a thread can see half of a module that another thread is still loading from a zip, which is what a
module's payload is (zipimport had no exec_module): one probe or another failed with an ImportError.
"""

from __future__ import annotations

from .._container import engine  # noqa: F401
from .._gpu import health  # noqa: F401
from .._gpu.amd import devices as amd_devices  # noqa: F401
from .._gpu.amd import health as amd_health  # noqa: F401
from .._gpu.nvidia import devices as nvidia_devices  # noqa: F401
from .._gpu.nvidia import health as nvidia_health  # noqa: F401
from .._host import live  # noqa: F401
from .._net import interfaces, names, reach  # noqa: F401
from .._software import changes  # noqa: F401
from .._system import clock, device_nodes, kernel_log, memory, processes, sudo  # noqa: F401
