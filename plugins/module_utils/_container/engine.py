# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engine of a node: Docker, by its own client.

`docker info` has most of it in one call, also for a client without an engine. Images are inspected one by one, because
one call for several does not return which are missing. The default memlock limit is the engine's, else that of
containerd, which starts the containers.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from functools import partial

from .._host.budget import Budget
from .._host.command import NO_ANSWER, CommandResult
from .._host.host import Host
from .._host.probe import run_probes
from .._records.health import Engine, Image
from .._records.known import parse_json
from .._system.limits import parse_memlock
from .._text.printable import clean
from .engine_output import (
    GPU_NODES,
    IMAGE,
    INSPECT,
    EngineInfo,
    is_missing,
    parse_gpu_containers,
    parse_image,
    parse_info,
)

CAP_S = 5.0
# `kind` of a CDI specification, as YAML or as JSON.
CDI_NVIDIA = re.compile(r"""(?:^|[{,\s])["']?kind["']?\s*:\s*["']?nvidia\.com/gpu(?=["'\s,}]|$)""")
DAEMON = "/etc/docker/daemon.json"
STARTERS = ("containerd", "dockerd")


def read_engine(host: Host, command: Sequence[str], images: Sequence[str]) -> Engine | None:
    """Return the state of the engine, None below another root."""
    if not host.is_live:
        return None
    budget = Budget(host)
    argv = list(command)
    result = budget.run([*argv, "info", "--format", "{{json .}}"], CAP_S)
    info = parse_info(result.out)
    running, why = _state(argv, result, info)
    if not running:
        denied = result.err.startswith("sudo:")
        return Engine(argv, info.client_version, running, why, info.compose, denied=denied)
    memlock, source = default_memlock(host)
    images_by_ref, failures = _images(budget, argv, images)
    return Engine(
        command=argv,
        version=info.version,
        running=True,
        why="; ".join(failures) or None,
        compose=info.compose,
        root_dir=info.root_dir,
        containers=info.containers,
        gpu_containers=_gpu_containers(host, budget, argv),
        images=images_by_ref,
        runtimes=info.runtimes,
        cdi=_cdi(host, info),
        default_memlock=memlock,
        memlock_source=source,
    )


def _state(command: list[str], result: CommandResult, info: EngineInfo) -> tuple[bool | None, str | None]:
    """Return whether the engine runs (None: it may, but does not let this user ask), and why not."""
    if info.version is not None and not info.errors:
        return True, None
    why = dataclasses.replace(result, err="\n".join([*info.errors, result.err])).why(CAP_S)
    if result.missing or result.timed_out:
        return (False if result.missing else None), f"{' '.join(command)} info: {why}"
    return (False if is_missing(why) else None), clean(why)


def _images(budget: Budget, command: list[str], refs: Sequence[str]) -> tuple[dict[str, Image | None], list[str]]:
    """Return the images by reference, None for a missing one; and why others could not be inspected."""
    inspect = [*command, "image", "inspect", "--format", IMAGE, "--"]
    probes = {ref: partial(budget.run, [*inspect, ref], CAP_S) for ref in refs}
    answers = run_probes(probes, CAP_S + 1).answers
    images: dict[str, Image | None] = {}
    failures = []
    for ref, result in answers.items():
        image = parse_image(result.out) if result is not None and result.rc == 0 else None
        if image is not None or (result is not None and result.rc and "no such" in result.err.lower()):
            images[ref] = image
        else:
            why = (result or NO_ANSWER).why(CAP_S)
            failures.append(f"image {ref}: {clean(why)}")
    return images, failures


def _gpu_containers(host: Host, budget: Budget, command: list[str]) -> list[str] | None:
    """Return the names of the running containers that were given GPUs."""
    running = budget.run([*command, "ps", "--quiet", "--no-trunc"], CAP_S)
    if running.rc != 0:
        return None
    ids = running.out.split()
    # A container that ended in between makes the call fail, but the others are printed.
    answer = budget.run([*command, "container", "inspect", "--format", INSPECT, *ids], CAP_S) if ids else None
    if answer is None:
        return []
    return None if answer.rc is None else parse_gpu_containers(answer.out, any(map(host.exists, GPU_NODES)))


def _cdi(host: Host, info: EngineInfo) -> bool | None:
    """Return whether a CDI specification in the engine's folders has NVIDIA's GPUs."""
    if info.version is None:
        return None
    paths = (os.path.join(folder, name) for folder in info.cdi_folders for name in host.list_dir(folder) or [])
    specs = (path for path in paths if path.endswith((".json", ".yaml", ".yml")))
    return any(CDI_NVIDIA.search(host.read_text(path) or "") for path in specs)


def parse_daemon(text: str) -> int | None:
    """Return the soft limit in daemon.json's default-ulimits, -1 for unlimited."""
    try:
        soft = parse_json(text)["default-ulimits"]["memlock"]["Soft"]
    except (KeyError, TypeError, IndexError):
        return None
    return soft if isinstance(soft, int) and not isinstance(soft, bool) and soft >= -1 else None


def default_memlock(host: Host) -> tuple[int | None, str | None]:
    """Return the limit in bytes (-1: unlimited), and where it was read."""
    limit = parse_daemon(host.read_text(DAEMON, 1024 * 1024) or "")
    if limit is not None:
        return limit, DAEMON
    pids = [name for name in host.list_dir("/proc") or [] if re.fullmatch("[0-9]{1,10}", name, re.ASCII)]
    names = {pid: (host.read_text(f"/proc/{pid}/comm", 64) or "").strip() for pid in pids}
    for starter in STARTERS:
        for pid in (pid for pid, name in names.items() if name == starter):
            limits = parse_memlock(host.read_text(f"/proc/{pid}/limits", 65536) or "")
            if limits is not None and limits.soft is not None:
                return limits.soft, f"/proc/{pid}/limits of {starter}"
    return None, None
