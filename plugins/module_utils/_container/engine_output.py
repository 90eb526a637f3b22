# SPDX-License-Identifier: GPL-3.0-or-later
"""What docker prints: info, image inspect, container inspect.

Fields are those of the Engine's API (`docker info --format json`) that all its versions have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._records.frozen import field, frozen
from .._records.health import Image
from .._records.known import parse_json

IMAGE = "[{{json .Id}},{{json .RepoDigests}}]"
INSPECT = (
    "[{{json .Name}},{{json .HostConfig.DeviceRequests}},{{json .HostConfig.Devices}},{{json .HostConfig.Runtime}},"
    "{{json .HostConfig.Privileged}}]"
)
_SETTINGS = ("DeviceRequests", "Devices", "Runtime", "Privileged")
# One of them exists on a node with GPUs for containers.
GPU_NODES = ("/dev/nvidiactl", "/dev/kfd")
# Device nodes of GPUs, and names of GPUs in CDI.
_GPU_DEVICE = re.compile(r"/dev/(?:nvidia.*|kfd|dri(?:/.*)?)")
_GPU_NAME = re.compile(r"(?:nvidia|amd)\.com/gpu\b.*")
# What Docker, sudo and the shell print if there is no engine, or none that listens.
_MISSING = re.compile(
    r"cannot connect to the docker daemon|is the docker daemon running|command not found|no such file or directory",
    re.IGNORECASE,
)


@frozen
class EngineInfo:
    """The answer of `docker info`; version is the engine's, None where it did not answer."""

    version: str | None = None
    client_version: str | None = None
    compose: str | None = None
    root_dir: str | None = None
    containers: int | None = None
    runtimes: list[str] = field(default_factory=list)
    cdi_folders: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def parse_info(text: str) -> EngineInfo:
    """Return the fields of `docker info`; unexpected values are left out."""
    data = parse_json(text)
    if not isinstance(data, dict):
        return EngineInfo()
    client = data.get("ClientInfo")
    client = client if isinstance(client, dict) else {}
    plugins = [plugin for plugin in _list(client.get("Plugins")) if isinstance(plugin, dict)]
    compose = next((plugin.get("Version") for plugin in plugins if plugin.get("Name") == "compose"), None)
    running = data.get("ContainersRunning")
    runtimes = data.get("Runtimes")
    return EngineInfo(
        version=_text(data.get("ServerVersion")),
        client_version=_text(client.get("Version")),
        compose=(_text(compose) or "").lstrip("v") or None,
        root_dir=_text(data.get("DockerRootDir")),
        containers=running if isinstance(running, int) and not isinstance(running, bool) else None,
        runtimes=sorted(runtimes) if isinstance(runtimes, dict) else [],
        cdi_folders=[folder for folder in _list(data.get("CDISpecDirs")) if isinstance(folder, str)],
        errors=[error for error in _list(data.get("ServerErrors")) if isinstance(error, str)],
    )


def parse_image(text: str) -> Image | None:
    """Return the image of an answer in the form IMAGE."""
    data = parse_json(text)
    if not (isinstance(data, list) and len(data) == 2 and isinstance(data[0], str)):
        return None
    return Image(data[0], sorted(digest for digest in _list(data[1]) if isinstance(digest, str)))


def parse_gpu_containers(text: str, gpus_here: bool = False) -> list[str]:
    """Return the names of the containers with GPUs; text has a line in the form INSPECT for each container."""
    names = []
    for line in text.splitlines():
        name, *settings = _list(parse_json(line) if line.startswith("[") else None) or [None]
        whole = isinstance(name, str) and len(settings) == len(_SETTINGS)
        if whole and has_gpu(dict(zip(_SETTINGS, settings)), gpus_here):
            names.append(str(name).lstrip("/"))
    return sorted(names)


def has_gpu(settings: Mapping[str, Any], gpus_here: bool) -> bool:
    """Return whether a container with this HostConfig has GPUs; a privileged one has all of the node."""
    for request in _list(settings.get("DeviceRequests")):
        if isinstance(request, dict):
            words = [word for words in _list(request.get("Capabilities")) for word in _list(words)]
            names = [name for name in _list(request.get("DeviceIDs")) if isinstance(name, str)]
            # With CDI the names identify GPUs, with other drivers the capabilities.
            if request.get("Driver") == "cdi":
                words = []
            if request.get("Driver") == "nvidia" or "gpu" in words or any(map(_GPU_NAME.fullmatch, names)):
                return True
    if settings.get("Runtime") == "nvidia" or (gpus_here and settings.get("Privileged") is True):
        return True
    paths = [device.get("PathOnHost") for device in _list(settings.get("Devices")) if isinstance(device, dict)]
    return any(isinstance(path, str) and _GPU_DEVICE.fullmatch(path) for path in paths)


def is_missing(why: str) -> bool:
    """Return whether an error means that there is no engine, or none that is up."""
    return _MISSING.search(why) is not None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
