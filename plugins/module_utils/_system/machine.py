# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of the machine, systemd and the user."""

from __future__ import annotations

import re

from .._host import sysfs
from .._host.host import Host
from .._records.frozen import frozen
from .._records.node import Systemd, User
from .logind import Logind, read_logind

_USER_SLICE = re.compile(r"/user-[0-9]+\.slice(?:/|$)", re.MULTILINE)
_MACHINE_ID = re.compile(r"[0-9a-f]{32}")


@frozen
class Identity:
    """Machine, boot and pid namespace (its inode): of these, containers of one machine may differ in the last only."""

    hostname: str
    machine_id: str | None
    boot_id: str | None
    pid_namespace: str | None = None

    @property
    def mark(self) -> str | None:
        """The IDs as one word, None if neither is known."""
        if self.machine_id is None and self.boot_id is None:
            return None
        return "/".join([self.machine_id or "-", self.boot_id or "-", *filter(None, [self.pid_namespace])])


def read_identity(host: Host) -> Identity:
    """Return which machine this is."""
    namespace = host.identity("/proc/self/ns/pid")
    ids = (sysfs.text(host, path) for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"))
    return Identity(
        hostname=sysfs.text(host, "/proc/sys/kernel/hostname") or host.node_name(),
        # machine-id(5): empty or "uninitialized" in an image
        machine_id=next((machine_id for machine_id in ids if machine_id and _MACHINE_ID.fullmatch(machine_id)), None),
        boot_id=sysfs.text(host, "/proc/sys/kernel/random/boot_id"),
        pid_namespace=None if namespace is None else str(namespace[1]),
    )


def read_systemd(host: Host) -> Systemd:
    """Return whether systemd runs the machine (sd_booted(3)), whether this user lingers, what ends with a session."""
    booted = host.is_dir("/run/systemd/system")
    logind = read_logind(host) if booted else Logind()
    groups = host.read_text("/proc/self/cgroup")
    return Systemd(
        booted=booted,
        linger=host.exists("/var/lib/systemd/linger/" + host.user_name()),
        kill_user_processes=logind.kills(host.user_name()),
        remove_ipc=logind.switches.get("RemoveIPC"),
        in_session=None if not booted or groups is None else _USER_SLICE.search(groups) is not None,
    )


def read_user(host: Host) -> User:
    """Return the user that runs commands."""
    return User(host.user_name(), host.user_id(), host.expand("~"))
