# SPDX-License-Identifier: GPL-3.0-or-later
"""Which facts of a node a plan needs: the options of the module node_facts for a request and a node's policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .._checks.launch import GATHERED
from .._cluster.binds import wanted
from .._cluster.profilers import PROFILERS, input_of, profiler_of
from .._cluster.script import is_brought
from .benchmark import SUBSETS

# The variables of the policy that the options come from.
POLICY = (
    *("launch_workdir", "launch_code_dir", "launch_python", "launch_slot", "launch_docker", "launch_runtime"),
    *("launch_compose_file", "launch_compose_service", "launch_shared_output_dir", "launch_head_address"),
    *("launch_env", "launch_node_env", "launch_image", "launch_apptainer", "launch_apptainer_options", "launch_binds"),
)
# A name of the head, which every node resolves for itself; not an address.
_NAME = re.compile(r"[^:]*[A-Za-z][^:]*")


def facts_options(node: str, given: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of node_facts. given: the values of the launch's parameters; policy: those of POLICY."""
    # From the highest layer of the environment down.
    layers = [layer for layer in (given["env"], policy["launch_node_env"], policy["launch_env"]) if layer]
    compose_file = policy["launch_compose_file"] if policy["launch_runtime"] == "docker" else ""
    in_image = policy["launch_runtime"] == "apptainer"
    # An image has a profiler of its own, which the start finds or does not.
    profiler = None if in_image else profiler_of(given)
    script = None if is_brought(given["script"]) else given["script"]
    files = [script, given["config"], input_of(given), compose_file, policy["launch_shared_output_dir"]]
    head, port = policy["launch_head_address"], given["master_port"]
    names = [head] if _NAME.fullmatch(head) else []
    options = {
        "node": node,
        "workdir": policy["launch_workdir"],
        "code_dir": policy["launch_code_dir"],
        "python": policy["launch_python"],
        "python_path": python_path(layers),
        "slot": policy["launch_slot"],
        "files": [path for path in files if path],
        "config": given["config"],
        # The port of the ranks and, below it, the port of the runners.
        "ports": [port - 1, port] if port else [],
        "names": names,
        "docker": policy["launch_docker"],
        "compose_file": compose_file or None,
        "compose_service": policy["launch_compose_service"],
        "script": script if policy["launch_runtime"] == "host" else None,
        "profiler": PROFILERS[profiler].program if profiler else None,
        **(image_options(policy, layers) if in_image else {}),
        "subset": [*GATHERED, *(["names"] if names else []), *(SUBSETS if "collective" in given else ())],
        "as_text": True,
    }
    return {name: value for name, value in options.items() if value is not None}


def python_path(layers: Sequence[Mapping[str, Any]]) -> str | None:
    """Return where the ranks find modules, by the layers of their environment from the highest down."""
    return next((layer["PYTHONPATH"] for layer in layers if "PYTHONPATH" in layer), None)


def image_options(policy: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options for the runtime apptainer; without its image, which the policy then refuses, none."""
    if not policy.get("launch_image"):
        return {}
    options = {name: policy.get(f"launch_{name}") for name in ("image", "apptainer", "apptainer_options")}
    options["binds"] = wanted(policy.get("launch_binds") or [], layers)
    return {name: value for name, value in options.items() if value}
