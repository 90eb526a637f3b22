# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch would do, out of the cluster's variables.

Only as far as checks depend on it, and lenient: what a launch would refuse is found by it, or told here as a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._cluster.ports import read_range
from .._detect.detected import Policy as Rules
from .._findings.finding import Finding
from .._nccl.variable_layers import CLUSTER
from .._request.settings import CLUSTER as DEFAULTS
from .._request.settings import DEFAULT
from .._request.standing import standing
from .model import Launch
from .thresholds import NAMES

VARIABLES = (
    *("launch_slot", "launch_starter", "launch_head_address", "launch_port_range", "launch_env", "launch_defaults"),
    *("launch_runtime", "launch_docker", "container_image", "container_privileged", "nccl_env_library"),
    *("nccl_env_version", "preflight_levels", "preflight_expected", "preflight_allowed_processes"),
    *(f"preflight_{name}" for name in NAMES),
)


def launch_of(policy: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[Launch, list[Finding]]:
    """Return what a launch would do with these variables, and what of them is no such thing."""
    defaults = policy.get("launch_defaults") or {}
    refused = []
    try:
        port_range = read_range(str(policy.get("launch_port_range") or "29400-29999"))
    except ValueError as error:
        port_range = (29400, 29999)
        seen = f"it is {policy.get('launch_port_range')!r}"
        remedy = "correct it in the inventory"
        refused.append(
            Finding("launch_port_range", None, "fail", seen, str(error), "variables of the first node", remedy)
        )
    port = str(defaults.get("master_port") or "")
    docker = policy.get("launch_docker") or ["docker"]
    image = policy.get("container_image")
    return Launch(
        slot=str(policy.get("launch_slot") or "default"),
        starter=str(policy.get("launch_starter") or "auto"),
        launcher=str(defaults.get("launcher") or "torchrun"),
        runtime=str(policy.get("launch_runtime") or "host"),
        docker=tuple(str(word) for word in docker) if isinstance(docker, list) else (str(docker),),
        head_address=str(policy.get("launch_head_address") or ""),
        port=int(port) if port.isdigit() else None,
        port_origin=DEFAULTS,
        port_range=port_range,
        files={what: (str(defaults[what]), DEFAULTS) for what in ("script", "config") if defaults.get(what)},
        images=(str(image),) if image else (),
        privileged=bool(policy.get("container_privileged")),
        call=request.get("call"),
    ), refused


def rules_of(policy: Mapping[str, Any], request: Mapping[str, Any], defaults: Any) -> Rules:
    """Return the policy by which the environment is decided, as a launch that is given nothing would."""
    settings, _refused = standing(defaults)
    mode = request["parameters"]["mode"]
    if mode["origin"] == DEFAULT:
        mode = settings["mode"]
    return Rules(
        mode=mode["value"],
        mode_origin=mode["origin"],
        head_address=str(policy.get("launch_head_address") or ""),
        library=str(policy.get("nccl_env_library") or ""),
        version=str(policy.get("nccl_env_version") or ""),
        layers=[
            (policy.get("launch_env") or {}, CLUSTER),
            (settings["env"]["value"] or {}, settings["env"]["origin"]),
        ],
        tuning=settings,
    )
