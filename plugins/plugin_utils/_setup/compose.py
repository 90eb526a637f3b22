# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's compose project: one service from which every run's container is created.

It depends on the node's devices and on the policy. It has no environment: a run's variables are in its job, where
docker inspect does not show them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._findings.errors import display
from .._request.variable_names import SECRET
from .compose_devices import requests_for, vendor_of

HEADER = "# Written by the role muster.train.container; changes are overwritten.\n"
SERVICE = "train"
_ENVIRONMENT = "variables of the ranks belong in launch_env (launch_secrets), which docker inspect does not show"
# What the role sets itself, or what a run depends on: its name, its end, its hidden variables.
REFUSED = {
    "environment": _ENVIRONMENT,
    "env_file": _ENVIRONMENT,
    "container_name": "every run's container has its own name",
    "restart": "a restarted container would run outside its run",
    "privileged": "set container_privileged",
    "user": "set container_user",
    "image": "set container_image",
    "build": "set container_build",
    "entrypoint": "the runner is the container's main process",
    "command": "the runner is the container's main process",
}
# Docker's reference grammar, with the brackets of an IPv6 registry.
IMAGE = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9\[\]_.:/@+-]*")
APPENDED = ("cap_add", "devices", "group_add", "security_opt", "volumes")


@frozen
class Options:
    """The policy of a node's container, as in the role's variables container_NAME; paths are absolute."""

    project: str
    image: str
    workdir: str
    code_dir: str
    build: Mapping[str, Any] = field(default_factory=dict)
    data_dirs: Sequence[str] = ()
    mounts: Sequence[Any] = ()
    topology_file: str = ""
    nccl_conf: str = ""
    gpus: str = "auto"
    gpu_request: str = "auto"
    ipc: str = "host"
    shm_size: str = "16g"
    memlock: int = -1
    stack: int = 67108864
    stop_grace: int = 75
    privileged: bool = False
    capabilities: Sequence[str] = ("IPC_LOCK",)
    profiling: bool = False
    user: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def render(options: Options, facts: NodeFacts, gpu: Gpu | None) -> str:
    """Return the text of compose.yaml; raise ValueError, in one line, for invalid options."""
    project = {"name": options.project, "services": {SERVICE: _service(options, facts, gpu)}}
    return HEADER + yaml.safe_dump(_literal(project), sort_keys=False, width=140)


def _service(options: Options, facts: NodeFacts, gpu: Gpu | None) -> dict[str, Any]:
    _refuse(options)
    service: dict[str, Any] = {"image": options.image}
    if options.build:
        service["build"] = dict(options.build)
    service.update(
        network_mode="host",
        ipc=options.ipc,
        init=True,
        restart="no",
        stop_grace_period=f"{options.stop_grace}s",
        working_dir=options.code_dir,
    )
    if options.user:
        service["user"] = options.user
    if options.privileged:
        service["privileged"] = True
    if options.shm_size:
        service["shm_size"] = options.shm_size
    limits = {"memlock": options.memlock, "stack": options.stack}
    service["ulimits"] = {name: {"soft": value, "hard": value} for name, value in limits.items()}
    capabilities = [*options.capabilities, *(["SYS_PTRACE"] if options.profiling else [])]
    if capabilities:
        service["cap_add"] = capabilities
    service.update(requests_for(vendor_of(options.gpus, gpu), options.gpu_request, facts))
    file = gpu.topology_file if gpu else None
    service["volumes"] = _mounts(options, options.topology_file or (file.path if file else ""))
    for name, value in options.options.items():
        values = value if isinstance(value, list) else [value]
        service[name] = [*service.get(name, []), *values] if name in APPENDED else value
    return service


def _refuse(options: Options) -> None:
    if not options.image:
        raise ValueError("container_image is empty; expected the image's name with a tag or a digest")
    if not IMAGE.fullmatch(options.image):
        # It is also an argument of docker's command lines, where an option such as --help would succeed.
        expected = "expected the image's name with a tag or a digest"
        raise ValueError(f"container_image: {expected}, saw {display(options.image)}")
    for name, why in REFUSED.items():
        if name in options.options:
            raise ValueError(f"container_options: {name} is not allowed: {why}")
    args = options.build.get("args") or []
    for name in (str(arg).partition("=")[0] for arg in args):
        if SECRET.fullmatch(name):
            raise ValueError(
                f"container_build: args: {name} looks like a secret and would stay in compose.yaml and in the image; "
                "build the image with docker build --secret and name it in container_image"
            )


def _mounts(options: Options, topology_file: str) -> list[Any]:
    """Mount the node's directories at their own paths; a missing one is an error, not an empty directory."""
    places = {options.workdir: ("workdir", False)}
    if not _below(options.code_dir, options.workdir):
        places.setdefault(options.code_dir, ("code_dir", False))
    for path in options.data_dirs:
        places.setdefault(path, ("data_dirs", True))
    mounts: list[Any] = [_bind(name, path, path, read_only) for path, (name, read_only) in places.items()]
    if topology_file:
        mounts.append(_bind("topology_file", topology_file, topology_file, True))
    if options.nccl_conf:
        mounts.append(_bind("nccl_conf", options.nccl_conf, "/etc/nccl.conf", True))
    return [*mounts, *options.mounts]


def _below(path: str, folder: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _bind(name: str, source: str, target: str, read_only: bool) -> dict[str, Any]:
    if not source.startswith("/"):
        raise ValueError(
            f"container_{name}: {display(source)} is not an absolute path, so it cannot be mounted at its own path"
        )
    mount: dict[str, Any] = {"type": "bind", "source": source, "target": target}
    if read_only:
        mount["read_only"] = True
    return {**mount, "bind": {"create_host_path": False}}


def _literal(value: Any) -> Any:
    """Return the value with every $ doubled, which Compose would otherwise interpolate."""
    if isinstance(value, Mapping):
        return {str(name): _literal(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_literal(item) for item in value]
    if isinstance(value, str):
        return str(value).replace("$", "$$")
    # Ansible's number types, which the dumper does not support, become numbers.
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
