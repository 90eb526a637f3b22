# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks inherit in a container of a compose service: its environment, its image's, and mounted nccl.conf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._host.budget import Budget
from .._host.host import Host
from .._records.known import as_dict, parse_json
from .._records.system import Inherited
from .._system.inherited import LIBRARIES, read_conf, select
from .._text.printable import clean

CAP_S = 5.0


def read_service(
    host: Host, docker: Sequence[str], file: str, service: str, warn: Callable[[str], None]
) -> list[Inherited]:
    """Return what the service's processes inherit, the strongest first."""
    budget = Budget(host)
    result = budget.run([*docker, "compose", "--file", file, "config", "--format", "json"], CAP_S)
    definition = as_dict(as_dict(as_dict(parse_json(result.out)).get("services")).get(service))
    if result.rc != 0 or not definition:
        why = result.why(CAP_S) if result.rc != 0 else f"it has no service {service}"
        warn(f"{file}: {clean(why)}: what its containers inherit is unknown")
        return []
    inherited = _layer(f"{file} ({service})", as_dict(definition.get("environment")))
    image = definition.get("image")
    if isinstance(image, str):
        inspect = [*docker, "image", "inspect", "--format", "{{json .Config.Env}}", "--", image]
        inherited += _layer(f"image {clean(image)}", _pairs(parse_json(budget.run(inspect, CAP_S).out)))
    volumes = definition.get("volumes")
    for volume in map(as_dict, volumes if isinstance(volumes, list) else []):
        for library in LIBRARIES:
            path = f"/etc/{library}.conf"
            if volume.get("target") == path and isinstance(volume.get("source"), str):
                inherited += read_conf(host, library, volume["source"], f"{path} in the container", in_container=True)
    return inherited


def _layer(label: str, environment: dict[Any, Any]) -> list[Inherited]:
    variables = select((name, value) for name, value in environment.items() if isinstance(value, str))
    return [Inherited("image", label, variables, in_container=True)] if variables else []


def _pairs(environment: Any) -> dict[str, str]:
    """Return an image's environment, a list of NAME=value, as a mapping."""
    texts = environment if isinstance(environment, list) else []
    return {text.partition("=")[0]: text.partition("=")[2] for text in texts if isinstance(text, str)}
