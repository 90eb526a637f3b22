# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch would do, out of the cluster's variables.

Only as far as checks depend on it, and lenient: what a launch would refuse is found by it, or told here as a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._findings.origin import LAUNCH_DEFAULTS
from .model import Launch


def launch_of(defaults: Mapping[str, Any], call: str | None) -> Launch:
    """Return what a launch that is given nothing would do with these launch_defaults; what is wrong it finds itself."""
    port = str(defaults.get("master_port") or "")
    return Launch(
        launcher=str(defaults.get("launcher") or "torchrun"),
        port=int(port) if port.isdigit() else None,
        port_origin=LAUNCH_DEFAULTS.label,
        files={
            what: (str(defaults[what]), LAUNCH_DEFAULTS.label) for what in ("script", "config") if defaults.get(what)
        },
        call=call,
    )
