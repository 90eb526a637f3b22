# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that the probes import while they run, imported before they start.

Before Python 3.10 a thread can see a module that another thread has only partly loaded from the payload's zip
(zipimport had no exec_module), and fails with an ImportError.
"""

from __future__ import annotations

from .._gpu.amd import devices as amd_devices  # noqa: F401
from .._gpu.amd import health as amd_health  # noqa: F401
from .._gpu.nvidia import devices as nvidia_devices  # noqa: F401
from .._gpu.nvidia import health as nvidia_health  # noqa: F401
from .._host import live  # noqa: F401
from .._software import changes  # noqa: F401
from .._system import processes  # noqa: F401
