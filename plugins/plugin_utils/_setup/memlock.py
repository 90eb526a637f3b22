# SPDX-License-Identifier: GPL-3.0-or-later
"""What to write so that a user may lock memory, what that disturbs, and whether it works.

Containers get the engine's default limit (daemon.json), not a drop-in for docker.service: they are children of
containerd, not of dockerd, and a drop-in needs a daemon-reload, which takes GPUs from running NVIDIA containers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .._request.memory_limit import UNLIMITED, enough, parse_limit, say
from .memlock_engine import ENGINE_FILE, engine_files

LIMITS_FILE = "/etc/security/limits.d/95-muster-memlock.conf"
DROP_IN = "/etc/systemd/system/{}.d/50-muster-memlock.conf"
ENGINE_UNIT = "docker.service"
# Of the units, only the login's user manager has its own limits; it is never restarted.
SSH_UNITS = ("ssh.service", "sshd.service")
UNITS = (*SSH_UNITS, "user@.service")
HEADER = "# Written by the role muster.train.memlock; changes are overwritten.\n"
_NAME = re.compile(r"@?[A-Za-z0-9_][A-Za-z0-9_.-]*\$?")


def check_name(name: str) -> str:
    """Return the user or @group that limits are for. Raise ValueError for *, uids and ranges."""
    if not _NAME.fullmatch(name) or name.isdigit():
        raise ValueError(f"memlock_for {name[:60]!r}: expected the name of one user, or of one group after @ (never *)")
    return name


def limits_text(name: str, target: int) -> str:
    """Return the file of limits.d (limits.conf(5)): soft and hard, in KiB."""
    return f"{HEADER}{name} - memlock {'unlimited' if target == UNLIMITED else target // 1024}\n"


def _target_files(node: Mapping[str, Any], name: str, target: int | None) -> dict[str, str | None]:
    """Return the files as they should be, None for those that should not exist."""
    files: dict[str, str | None] = dict.fromkeys([LIMITS_FILE, *map(DROP_IN.format, UNITS)])
    if target is not None:
        files[LIMITS_FILE] = limits_text(name, target)
        # systemd.exec(5): soft and hard, in bytes.
        drop_in = f"{HEADER}[Service]\nLimitMEMLOCK={'infinity' if target == UNLIMITED else target}\n"
        files.update({DROP_IN.format(unit): drop_in for unit in UNITS if unit in node["unit_files"]})
    return files


def _busy(node: Mapping[str, Any]) -> list[str]:
    """Return what a daemon-reload would disturb."""
    busy = [f"run {run} is active" for run in node["runs"]]
    engine = node["engine"]
    if engine is not None:
        busy += [f"container {item['name']} has GPUs" for item in engine["containers"] if item["gpu"]]
        if engine["why"] and (engine["running"] or node["units"].get(ENGINE_UNIT, {}).get("pid")):
            busy.append(f"the engine's containers are unknown ({engine['why']})")
    return busy


def _differs(unit: Mapping[str, Any]) -> bool:
    """Return whether a unit's process has another limit than its configuration."""
    return bool(unit["pid"]) and unit["configured"] is not None and unit["soft"] != unit["configured"]


def plan(
    node: Mapping[str, Any], login: Mapping[str, Any], name: str, limit: Any, state: str, engine: bool
) -> dict[str, Any]:
    """Return what to do on a node: write, remove, reload, restart, and pending, which is what must wait and why.

    engine_waits: a restart of the container engine is among what is pending.

    node is what root reads before anything is written, login what the login user reads.
    """
    target = parse_limit(limit) if state == "present" else None
    who = check_name(name or str(login["user"]))
    _check_can_raise(node["login"], target)
    texts = _target_files(node, who, target)
    remarks: list[str] = []
    if engine and node["engine"] is not None:
        engines, remarks = engine_files(node["files"], target)
        texts.update(engines)
    changed = {path: text for path, text in texts.items() if text != node["files"].get(path)}
    write = [{"path": path, "text": text} for path, text in changed.items() if text is not None]
    remove = [path for path, text in changed.items() if text is None]
    units = {unit: node["units"][unit] for unit in SSH_UNITS if unit in node["units"]}
    drop_ins = {DROP_IN.format(unit) for unit in UNITS}
    reload = bool(changed.keys() & drop_ins) or any(unit["reload"] for unit in node["units"].values())
    ssh_changed = any(unit["reload"] or DROP_IN.format(name) in changed for name, unit in units.items())
    restart = [name for name, unit in units.items() if unit["pid"] and (ssh_changed or _differs(unit))]
    busy = _busy(node)
    pending: list[str] = []
    engine_waits = False
    if busy and (reload or restart):
        pending.append(_wait("systemd and the ssh service keep the limits they have", busy))
        reload, restart = False, []
    if engine and _engine_is_stale(node["engine"], ENGINE_FILE in changed, target):
        others = [] if node["engine"]["live_restore"] else node["engine"]["containers"]
        obstacles = busy + [f"container {item['name']} would be stopped" for item in others if not item["gpu"]]
        if node["engine"]["flag"] and target is not None:
            raise ValueError(
                "the container engine has --default-ulimit on its command line and would not start if it were also in "
                f"{ENGINE_FILE}: remove it there (systemctl cat docker), or set memlock_engine to false"
            )
        engine_waits = bool(obstacles)
        if engine_waits:
            pending.append(_wait("the container engine keeps its default limit", obstacles))
        else:
            restart.append(ENGINE_UNIT)
    pending += _manager_pending(node, login, target)
    return {
        "refused": None,
        "for": who,
        "wanted": target,
        "write": write,
        "remove": remove,
        "reload": reload,
        "restart": restart,
        "pending": pending,
        "engine_waits": engine_waits,
        "stays": remarks,
        "changes": bool(changed or reload or restart),
    }


def _check_can_raise(root: Mapping[str, Any], target: int | None) -> None:
    """Refuse a limit that the machine cannot set: with such a default, no container would start any more."""
    if target is not None and root["can_raise"] is False and not enough(root["hard"], target):
        raise ValueError(
            f"nothing here can raise the limit above {say(root['hard'])}: root has no CAP_SYS_RESOURCE (is it a "
            f"container?); raise it outside, or set memlock_limit to {root['hard']}"
        )


def _wait(what: str, busy: Sequence[str]) -> str:
    return f"{what}, because {', '.join(busy)}: run this again afterwards"


def _engine_is_stale(engine: Mapping[str, Any] | None, changed: bool, target: int | None) -> bool:
    if engine is None or not engine["running"]:
        return False
    measured = engine["container"]
    if measured is None:
        return changed  # in check mode, the effect of a newer configuration is unknown
    right = measured["soft"] is not None and measured["soft"] == measured["hard"] == target
    return changed or (bool(engine["stale"]) and not right)


def _manager_pending(node: Mapping[str, Any], login: Mapping[str, Any], target: int | None) -> list[str]:
    """Report a lingering user's service manager, the parent of runs as user units, that still has its old limit."""
    unit = node["units"].get(f"user@{login['uid']}.service")
    if not login["linger"] or target is None or not unit or not unit["pid"] or enough(unit["hard"], target):
        return []
    return [
        f"the service manager of {login['user']} keeps {say(unit['hard'])}: it is never restarted while the user has "
        f"services; when nothing important runs, run loginctl terminate-user {login['user']}, or reboot the node"
    ]


def verdict(
    target: int | None, login: Mapping[str, Any], who: str, engine: Mapping[str, Any] | None, engine_waits: bool
) -> dict[str, list[str]]:
    """Return problems and what could not be checked, as sentences; what is pending is not a problem."""
    problems: list[str] = []
    unknown: list[str] = []
    if target is None:
        return {"problems": problems, "unknown": unknown}
    if who != login["user"] and not who.startswith("@"):
        unknown.append(f"the limit of {who} was not checked: this login is {login['user']}")
    elif not enough(login["effective"], target):
        problems.append(
            f"a new login of {login['user']} may lock {say(login['effective'])}, expected {say(target)}: check that "
            "its PAM stack has pam_limits.so, that no other file in /etc/security/limits.d sets less, and that the "
            "machine may raise it (a container may not)"
        )
    if engine is not None and engine["running"] and not engine_waits:
        container = engine["container"]
        if container is None:
            unknown.append("the limit of a container was not checked: check mode starts none")
        elif container["image"] is None:
            unknown.append("the limit of a container was not checked: there is no image (memlock_image)")
        elif container["why"]:
            problems.append(f"no container of {container['image']} starts to check its limit: {container['why']}")
        elif not enough(container["soft"], target):
            problems.append(f"a container may lock {say(container['soft'])}, expected {say(target)} ({ENGINE_FILE})")
    return {"problems": problems, "unknown": unknown}
