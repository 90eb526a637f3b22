# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of locked memory on a node, and the runs and containers that a change would disturb.

Limits are those of processes, because they can differ from what a unit or a file configures.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from .._container.engine_output import GPU_NODES, has_gpu
from .._host.host import Host
from .._records.known import parse_json
from .._system.limits import parse_capability, parse_memlock, read_memlock
from ..runner import process_tree

UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
PROPERTIES = ("Id", "LoadState", "MainPID", "LimitMEMLOCK", "NeedDaemonReload")
SHORT_S, ENGINE_S, CONTAINER_S = 5.0, 15.0, 60.0
ENGINE_PID, ENGINE_CONFIG = "/run/docker.pid", "/etc/docker/daemon.json"
CAP_SYS_RESOURCE = 24  # linux/capability.h
_INFINITY = ("infinity", "18446744073709551615")


def parse_units(text: str) -> dict[str, dict[str, Any]]:
    """Return the loaded units of `systemctl show`: pid, configured limit in bytes, reload."""
    units = {}
    for block in re.split(r"\n\s*\n", text):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if values.get("LoadState") != "loaded" or not values.get("Id"):
            continue
        limit, pid = values.get("LimitMEMLOCK", ""), values.get("MainPID", "")
        units[values["Id"]] = {
            "pid": int(pid) if pid.isdigit() and pid != "0" else None,
            "configured": -1 if limit in _INFINITY else int(limit) if limit.isdigit() else None,
            "reload": values.get("NeedDaemonReload") == "yes",
        }
    return units


def parse_containers(text: str, gpus_here: bool = False) -> list[dict[str, Any]]:
    """Return name and GPU use of each container in the answer of `docker inspect`."""
    data = parse_json(text)
    return [_container(item, gpus_here) for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _container(data: dict[str, Any], gpus_here: bool) -> dict[str, Any]:
    config = data.get("HostConfig")
    settings: dict[str, Any] = config if isinstance(config, dict) else {}
    name = str(data.get("Name") or data.get("Id") or "?").lstrip("/")
    return {"name": name, "gpu": has_gpu(settings, gpus_here), "privileged": settings.get("Privileged") is True}


def read_login(host: Host) -> dict[str, Any]:
    """Return the user of this process and its limits in bytes."""
    memlock = read_memlock(host)
    limits = dataclasses.asdict(memlock) if memlock else dict.fromkeys(("soft", "hard", "cap_ipc_lock", "effective"))
    name = host.user_name()
    linger = host.exists(f"/var/lib/systemd/linger/{name}")
    can_raise = parse_capability(host.read_text("/proc/self/status") or "", CAP_SYS_RESOURCE)
    return {"user": name, "uid": host.user_id(), "linger": linger, "can_raise": can_raise, **limits}


def read_units(host: Host, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the units of these names that systemd knows, each with the limits of its main process."""
    named = [name for name in names if "@." not in name]  # of a template only instances have processes
    if not named:
        return {}
    argv = ["systemctl", "show", f"--property={','.join(PROPERTIES)}", "--", *named]
    units = parse_units(host.run(argv, timeout=SHORT_S).out)
    for unit in units.values():
        memlock = parse_memlock(host.read_text(f"/proc/{unit['pid']}/limits") or "") if unit["pid"] else None
        unit.update(soft=memlock.soft if memlock else None, hard=memlock.hard if memlock else None)
    return units


def existing_units(host: Host, names: Sequence[str]) -> list[str]:
    """Return the names that are unit files, not aliases."""
    return [
        name
        for name in names
        if any(host.is_file(f"{folder}/{name}") and not host.is_link(f"{folder}/{name}") for folder in UNIT_FOLDERS)
    ]


def read_runs() -> list[str]:
    """Return the IDs of the runs with a runner on this machine, containers included."""
    marks = (process_tree.environment(process.pid) for process in process_tree.every())
    return sorted({mark.get("MUSTER_RUN_ID", "?") for mark in marks if mark.get("MUSTER_ROLE") == "runner"})


def read_engine(host: Host, docker: Sequence[str], image: str, probe: bool) -> dict[str, Any] | None:
    """Return the running containers and, with probe, the limits of a new one; None without an engine."""
    if host.which(docker[-1]) is None and not host.exists(ENGINE_CONFIG):
        return None
    engine: dict[str, Any] = {
        "running": False,
        "why": None,
        "containers": [],
        "live_restore": None,
        "stale": _stale(host),
        "flag": _has_flag(host),
        "container": None,
    }
    info = host.run([*docker, "info", "--format", "{{json .LiveRestoreEnabled}}"], timeout=ENGINE_S)
    listed = host.run([*docker, "ps", "--quiet", "--no-trunc"], timeout=ENGINE_S)
    if info.rc != 0 or listed.rc != 0:
        engine["why"] = (listed if info.rc == 0 else info).why(ENGINE_S)
        return engine
    engine.update(running=True, live_restore=info.out.strip() == "true")
    ids = listed.out.split()
    if ids:
        inspected = host.run([*docker, "inspect", *ids], timeout=ENGINE_S).out
        engine["containers"] = parse_containers(inspected, any(map(host.exists, GPU_NODES)))
        if len(engine["containers"]) != len(ids):
            engine["why"] = f"docker inspect does not return all of the {len(ids)} containers"
    if probe:
        engine["container"] = read_container_limit(host, docker, image)
    return engine


def read_container_limit(host: Host, docker: Sequence[str], image: str) -> dict[str, Any]:
    """Return the limits of a process in a new container; image is None if there is none."""
    if not image:
        image = (host.run([*docker, "images", "--quiet"], timeout=ENGINE_S).out.split() or [""])[0]
    if not image:
        return {"image": None, "soft": None, "hard": None, "why": "there is no image"}
    options = ["--rm", "--pull=never", "--network=none", "--entrypoint=cat"]
    result = host.run([*docker, "run", *options, image, "/proc/self/limits"], timeout=CONTAINER_S)
    memlock = parse_memlock(result.out) if result.rc == 0 else None
    why = None if memlock else result.why(CONTAINER_S)
    return {"image": image, "soft": memlock and memlock.soft, "hard": memlock and memlock.hard, "why": why}


def _stale(host: Host) -> bool:
    """Return whether the engine's configuration changed after it started."""
    written, started = host.modified(ENGINE_CONFIG), host.modified(ENGINE_PID)
    return written is not None and started is not None and written > started


def _has_flag(host: Host) -> bool:
    """Return whether the engine has default limits on its command line: with daemon.json's too it does not start."""
    pid = (host.read_text(ENGINE_PID) or "").strip()
    line = host.read_text(f"/proc/{pid}/cmdline") if pid.isdigit() else None
    return any(word.split("=")[0] == "--default-ulimit" for word in (line or "").split("\0"))
