# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's policy: the variables launch_* that the plan needs. (`_policy.py` is private to the collection.)

Their defaults are the role's (`roles/launch/defaults`); what they mean is in its argument specification.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._parameters import Parameter, display, expected, read
from ansible_collections.muster.train.plugins.plugin_utils._ports import read_range

DAY = 86400

VARIABLES = (
    Parameter("launch_slot", "label", "Slot"),
    Parameter("launch_supervisor", "choice", "Starter", choices=("auto", "setsid", "systemd")),
    Parameter("launch_stop_grace", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_abort_grace", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_join_timeout", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_log_limit_mib", "int", "MiB", minimum=1, maximum=1 << 20),
)
HEAD_ADDRESS = Parameter("launch_head_address", "node", "Address")
NAMES = (*(variable.name for variable in VARIABLES), HEAD_ADDRESS.name, "launch_port_range", "launch_env")


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the cluster's owner decided, read once from the head's variables. Times are seconds."""

    env: Mapping[str, Any]
    head_address: str
    port_range: tuple[int, int]
    slot: str
    supervisor: str
    stop_grace: int
    abort_grace: int
    join_timeout: int
    log_limit_mib: int

    @classmethod
    def from_variables(cls, variables: Mapping[str, Any]) -> Policy:
        """Read the variables launch_*; raise PlanError with all that cannot be read."""
        values: dict[str, Any] = {}
        findings = []
        for parameter in VARIABLES:
            raw = variables.get(parameter.name)
            try:
                values[parameter.name] = read(parameter, raw)
            except ValueError:
                findings.append(_fault(parameter.name, raw, expected(parameter)))
        address = variables.get("launch_head_address", "")
        try:
            values["launch_head_address"] = read(HEAD_ADDRESS, address) if address != "" else ""
        except ValueError:
            findings.append(_fault("launch_head_address", address, "an address or a host name, or nothing"))
        try:
            values["launch_port_range"] = read_range(str(variables.get("launch_port_range")))
        except ValueError as error:
            findings.append(_fault("launch_port_range", variables.get("launch_port_range"), str(error)))
        values["launch_env"] = variables.get("launch_env", {})
        if not isinstance(values["launch_env"], Mapping):
            findings.append(_fault("launch_env", values["launch_env"], "a mapping of names to values"))
        if findings:
            raise PlanError(findings)
        return cls(**{name.removeprefix("launch_"): value for name, value in values.items()})


def _fault(name: str, raw: object, wanted: str) -> Finding:
    return Finding(
        check=name,
        node=None,
        status="fail",
        observed="it is not set" if raw is None else f"it is {display(raw)}",
        expected=wanted,
        source="the role muster.train.launch",
        remedy=f"correct {name} in the inventory" if raw is not None else "use the role, or set it in the inventory",
    )
