# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's policy: the variables launch_* that the plan needs.

Their defaults are the role's (`roles/launch/defaults`); what they mean is in its argument specification.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._checks import policy as _checks_policy
from .._checks.check import Level
from .._checks.thresholds import NAMES as THRESHOLDS
from .._checks.thresholds import Thresholds
from .._findings.finding import Finding, PlanError
from .._request.parameters import SECRET, Parameter, display, expected, read
from .head_address import is_reachable
from .ports import read_range

DAY = 86400
LEAST_LOST_AFTER_S = 6

VARIABLES = (
    Parameter("launch_slot", "label", "Slot"),
    Parameter("launch_runtime", "choice", "Runtime", choices=("host", "docker")),
    Parameter("launch_compose_file", "path", "File"),
    Parameter("launch_compose_service", "label", "Service"),
    Parameter("launch_docker", "arguments", "Command"),
    Parameter("launch_starter", "choice", "Starter", choices=("auto", "setsid", "systemd")),
    Parameter("launch_stop_grace", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_abort_grace", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_join_timeout", "int", "Seconds", minimum=1, maximum=DAY),
    Parameter("launch_lost_after", "int", "Seconds", minimum=0, maximum=DAY),
    Parameter("launch_log_limit_mib", "int", "MiB", minimum=1, maximum=1 << 20),
)
HEAD_ADDRESS = Parameter("launch_head_address", "node", "Address")
# Of the role preflight, whose checks a launch makes too; not set: as by its defaults.
OF_CHECKS = ("preflight_levels", "preflight_expected", *(f"preflight_{name}" for name in THRESHOLDS))
NAMES = (*(variable.name for variable in VARIABLES), HEAD_ADDRESS.name, "launch_port_range", "launch_env", *OF_CHECKS)


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the cluster's owner decided, read once from the head's variables. Times are seconds."""

    env: Mapping[str, Any]
    head_address: str
    port_range: tuple[int, int]
    slot: str
    runtime: str
    compose_file: str
    compose_service: str
    docker: list[str]
    starter: str
    stop_grace: int
    abort_grace: int
    join_timeout: int
    lost_after: int
    log_limit_mib: int
    levels: Mapping[str, Level] = dataclasses.field(default_factory=dict)
    expected: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    thresholds: Thresholds = dataclasses.field(default_factory=Thresholds)

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
        if 0 < values.get("launch_lost_after", 0) < LEAST_LOST_AFTER_S:
            least = f"0 (never), or at least {LEAST_LOST_AFTER_S}: the runners give a sign of life every 2 s"
            findings.append(_fault("launch_lost_after", values["launch_lost_after"], least))
        if values.get("launch_docker") == []:
            findings.append(_fault("launch_docker", [], "the words that call Docker, such as [docker]"))
        address = variables.get("launch_head_address", "")
        try:
            values["launch_head_address"] = _address(address)
        except ValueError:
            findings.append(_fault("launch_head_address", address, "an address or a host name, or nothing"))
        try:
            values["launch_port_range"] = read_range(str(variables.get("launch_port_range")))
        except ValueError as error:
            findings.append(_fault("launch_port_range", variables.get("launch_port_range"), str(error)))
        values["launch_env"] = variables.get("launch_env", {})
        if not isinstance(values["launch_env"], Mapping):
            findings.append(_fault("launch_env", values["launch_env"], "a mapping of names to values"))
        levels, refused = _checks_policy.levels(variables.get("preflight_levels") or {})
        expected_of_nodes, unknown = _checks_policy.profile(variables.get("preflight_expected") or {})
        given = {name: variables[f"preflight_{name}"] for name in THRESHOLDS if f"preflight_{name}" in variables}
        thresholds, no_numbers = _checks_policy.thresholds(given)
        findings += [*refused, *unknown, *no_numbers]
        if findings:
            raise PlanError(findings)
        own = {name.removeprefix("launch_"): value for name, value in values.items()}
        return cls(**own, levels=levels, expected=expected_of_nodes, thresholds=thresholds)


def _address(raw: object) -> str:
    """Return the address or host name as it is; empty is none."""
    text = "" if raw == "" else str(read(HEAD_ADDRESS, raw))
    if text and not is_reachable(text):
        raise ValueError
    return text


def check_alike(policies: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Find policy that a node has of its own: the plan has one policy, that of the first node, the head."""
    findings = []
    head = next(iter(policies), "")
    for node, own in policies.items():
        for name, value in own.items():
            here, there = _differing(value, policies[head].get(name))
            if here == there:
                continue
            aside = ", and what is one node's in launch_node_env" if name == "launch_env" else ""
            findings.append(
                Finding(
                    check=name,
                    node=node,
                    status="fail",
                    observed=f"it is {display(_shown(here))} for this node",
                    expected=f"{display(_shown(there))} as for the head, {head}",
                    source="variables of the node",
                    remedy=f"put it in group_vars, the same for all{aside}",
                )
            )
    return findings


def _differing(here: Any, there: Any) -> tuple[Any, Any]:
    """Return what differs of two values, nothing of two that mean the same: numbers may be text."""
    if not (isinstance(here, Mapping) and isinstance(there, Mapping)):
        return (here, there) if str(here) != str(there) else (None, None)
    texts = [{str(name): str(value) for name, value in side.items()} for side in (here, there)]
    odd = sorted(name for name in texts[0].keys() | texts[1].keys() if texts[0].get(name) != texts[1].get(name))
    own, other = ({name: side[name] for name in odd if name in side} for side in texts)
    return own, other


def _shown(value: Any) -> Any:
    """Return the value without what looks like a secret, which is refused elsewhere."""
    if not isinstance(value, Mapping):
        return value
    return {name: "…" if SECRET.fullmatch(str(name)) else item for name, item in value.items()}


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
