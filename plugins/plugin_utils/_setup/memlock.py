# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be written so that a user may lock memory, what that disturbs, and whether it works.

Containers get the engine's default limit (daemon.json) and not a drop-in for docker.service: they are children of
containerd and not of dockerd, and a drop-in needs a daemon-reload, which takes GPUs from running NVIDIA containers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .memlock_engine import ENGINE_FILE, engine_files

UNLIMITED = -1
LIMITS_FILE = "/etc/security/limits.d/95-muster-memlock.conf"
DROP_IN = "/etc/systemd/system/{}.d/50-muster-memlock.conf"
ENGINE_UNIT = "docker.service"
# Only the login's own user manager has limits of its own among the units; it is never restarted.
SSH_UNITS = ("ssh.service", "sshd.service")
UNITS = (*SSH_UNITS, "user@.service")
HEADER = "# Written by the role muster.train.memlock; changes are overwritten.\n"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LIMIT = re.compile(r"([0-9]{1,15})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_NAME = re.compile(r"@?[A-Za-z0-9_][A-Za-z0-9_.-]*\$?")


def parse_limit(value: Any) -> int:
    """Return a limit in bytes, -1 for none. Raise ValueError for what is no limit."""
    text = str(value).strip()
    if isinstance(value, bool):
        text = ""
    if text.lower() in ("unlimited", "infinity", "-1"):
        return UNLIMITED
    match = _LIMIT.fullmatch(text)
    # limits.conf(5) counts in KiB.
    size = int(match[1]) * _UNITS[match[2].upper()] if match else 0
    if size <= 0 or size % 1024:
        raise ValueError(f"memlock_limit {str(value)[:60]!r}: expected unlimited or a size in whole KiB, such as 64GiB")
    return size


def check_name(name: str) -> str:
    """Return the user or @group that limits are for. Raise ValueError for everybody, uids and ranges."""
    if not _NAME.fullmatch(name) or name.isdigit():
        raise ValueError(f"memlock_for {name[:60]!r}: expected the name of one user, or of one group after @ (never *)")
    return name


def say(size: int | None) -> str:
    """Return a limit in words."""
    if size is None:
        return "unknown"
    if size == UNLIMITED:
        return "unlimited"
    for unit in ("T", "G", "M", "K"):
        if size % _UNITS[unit] == 0 and size:
            return f"{size // _UNITS[unit]} {unit}iB"
    return f"{size} bytes"


def enough(found: int | None, wanted: int) -> bool:
    """Say whether a limit is at least the one wanted."""
    return found is not None and (found == UNLIMITED or (wanted != UNLIMITED and found >= wanted))


def limits_text(name: str, wanted: int) -> str:
    """Return the file of limits.d (limits.conf(5)): soft and hard, in KiB."""
    return f"{HEADER}{name} - memlock {'unlimited' if wanted == UNLIMITED else wanted // 1024}\n"


def drop_in_text(wanted: int) -> str:
    """Return the drop-in of a unit (systemd.exec(5)): soft and hard, in bytes."""
    return f"{HEADER}[Service]\nLimitMEMLOCK={'infinity' if wanted == UNLIMITED else wanted}\n"


def _wanted_files(node: Mapping[str, Any], name: str, wanted: int | None) -> dict[str, str | None]:
    files: dict[str, str | None] = {LIMITS_FILE: None if wanted is None else limits_text(name, wanted)}
    for unit in UNITS:
        path = DROP_IN.format(unit)
        here = wanted is not None and unit in node["unit_files"]
        files[path] = drop_in_text(wanted) if here and wanted is not None else None
    return files


def _busy(node: Mapping[str, Any]) -> list[str]:
    """Say what a daemon-reload would disturb."""
    busy = [f"run {run} is up" for run in node["runs"]]
    engine = node["engine"]
    if engine is not None:
        busy += [f"container {each['name']} has GPUs" for each in engine["containers"] if each["gpu"]]
        if engine["why"] and (engine["running"] or node["units"].get(ENGINE_UNIT, {}).get("pid")):
            busy.append(f"what the engine runs is not known ({engine['why']})")
    return busy


def _differs(unit: Mapping[str, Any]) -> bool:
    """Say whether a unit's process has another limit than its configuration."""
    return bool(unit["pid"]) and unit["configured"] is not None and unit["soft"] != unit["configured"]


def plan(
    node: Mapping[str, Any], login: Mapping[str, Any], name: str, limit: Any, state: str, engine: bool
) -> dict[str, Any]:
    """Return what to do on a node: write, remove, reload, restart, and pending: what must wait, and for whom.

    node is what root reads before anything is written, login what the login user reads.
    """
    wanted = parse_limit(limit) if state == "present" else None
    who = check_name(name or str(login["user"]))
    _check_can_raise(node["login"], wanted)
    texts = _wanted_files(node, who, wanted)
    stays: list[str] = []
    if engine and node["engine"] is not None:
        engines, stays = engine_files(node["files"], wanted)
        texts.update(engines)
    write = [
        {"path": path, "text": text}
        for path, text in texts.items()
        if text is not None and text != node["files"].get(path)
    ]
    remove = [path for path, text in texts.items() if text is None and node["files"].get(path) is not None]
    touched = {*remove, *(str(each["path"]) for each in write)}
    units = {unit: node["units"][unit] for unit in SSH_UNITS if unit in node["units"]}
    drop_ins = {DROP_IN.format(unit) for unit in UNITS}
    reload = bool(touched & drop_ins) or any(unit["reload"] for unit in node["units"].values())
    ssh_changed = any(unit["reload"] or DROP_IN.format(name) in touched for name, unit in units.items())
    restart = [name for name, unit in units.items() if unit["pid"] and (ssh_changed or _differs(unit))]
    busy = _busy(node)
    pending = []
    if busy and (reload or restart):
        pending.append(_wait("systemd and the ssh service keep the limits they have", busy))
        reload, restart = False, []
    if engine and _engine_is_stale(node["engine"], ENGINE_FILE in touched, wanted):
        others = [] if node["engine"]["live_restore"] else node["engine"]["containers"]
        in_its_way = busy + [f"container {each['name']} would be stopped" for each in others if not each["gpu"]]
        if node["engine"]["flag"] and wanted is not None:
            raise ValueError(
                f"the container engine has --default-ulimit on its command line and would not start with {ENGINE_FILE} "
                "saying it too: remove it there (systemctl cat docker), or set memlock_engine to false"
            )
        if in_its_way:
            pending.append(_wait("the container engine keeps its default limit", in_its_way))
        else:
            restart.append(ENGINE_UNIT)
    pending += _manager_pending(node, login, wanted)
    return {
        "refused": None,
        "for": who,
        "wanted": wanted,
        "write": write,
        "remove": remove,
        "reload": reload,
        "restart": restart,
        "pending": pending,
        "stays": stays,
        "changes": bool(touched or reload or restart),
    }


def _check_can_raise(root: Mapping[str, Any], wanted: int | None) -> None:
    """Refuse what nothing on the machine could do: with such a default limit no container would start any more."""
    if wanted is not None and root["can_raise"] is False and not enough(root["hard"], wanted):
        raise ValueError(
            f"nothing here can raise the limit above {say(root['hard'])}: root has no CAP_SYS_RESOURCE (is it a "
            f"container?); raise it outside, or set memlock_limit to {root['hard']}"
        )


def _wait(what: str, busy: Sequence[str]) -> str:
    return f"{what}, because {', '.join(busy)}: run this again when that has ended"


def _engine_is_stale(engine: Mapping[str, Any] | None, touched: bool, wanted: int | None) -> bool:
    if engine is None or not engine["running"]:
        return False
    measured = engine["container"]
    if measured is None:
        return touched  # in check mode nobody knows what an engine with a newer configuration gives
    right = measured["soft"] is not None and measured["soft"] == measured["hard"] == wanted
    return touched or (bool(engine["stale"]) and not right)


def _manager_pending(node: Mapping[str, Any], login: Mapping[str, Any], wanted: int | None) -> list[str]:
    """Say that a lingering user's service manager, the parent of runs as user units, still has its old limit."""
    unit = node["units"].get(f"user@{login['uid']}.service")
    if not login["linger"] or wanted is None or not unit or not unit["pid"] or enough(unit["hard"], wanted):
        return []
    return [
        f"the service manager of {login['user']} keeps {say(unit['hard'])}: it is never restarted while the user has "
        f"services; when nothing of value runs, loginctl terminate-user {login['user']}, or reboot the node"
    ]


def verdict(
    wanted: int | None, login: Mapping[str, Any], who: str, engine: Mapping[str, Any] | None, pending: Sequence[str]
) -> dict[str, list[str]]:
    """Return problems and what could not be looked at, each in words; what is pending is no problem."""
    problems: list[str] = []
    unknown: list[str] = []
    if wanted is None:
        return {"problems": problems, "unknown": unknown}
    if who != login["user"] and not who.startswith("@"):
        unknown.append(f"the limit of {who} was not looked at: this login is {login['user']}")
    elif not enough(login["effective"], wanted):
        problems.append(
            f"a fresh login of {login['user']} may lock {say(login['effective'])}, expected {say(wanted)}: "
            "does its PAM stack have pam_limits.so, does another file in /etc/security/limits.d say less, may the "
            "machine raise it (a container may not)?"
        )
    if engine is not None and engine["running"] and not any("container engine" in each for each in pending):
        found = engine["container"]
        if found is None:
            unknown.append("the limit of a container was not looked at: check mode starts none")
        elif found["image"] is None:
            unknown.append("the limit of a container was not looked at: there is no image (memlock_image)")
        elif found["why"]:
            problems.append(f"no container of {found['image']} starts to tell its limit: {found['why']}")
        elif not enough(found["soft"], wanted):
            problems.append(f"a container may lock {say(found['soft'])}, expected {say(wanted)} ({ENGINE_FILE})")
    return {"problems": problems, "unknown": unknown}
