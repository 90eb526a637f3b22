# SPDX-License-Identifier: GPL-3.0-or-later
"""The control groups that this process is in (cgroups(7)); a group has at most what the groups above it have."""

from __future__ import annotations

from .._host.host import Host

CGROUPS = "/sys/fs/cgroup"


def parse_groups(text: str) -> dict[str, str]:
    """Return the groups in /proc/self/cgroup (cgroups(7)) by controller, that of version 2 under an empty name."""
    groups = {}
    for line in text.splitlines():
        _hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        if path.startswith("/"):
            groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def read_groups(host: Host) -> dict[str, str]:
    """Return the groups of this process, that of version 2 also where they cannot be read."""
    return parse_groups(host.read_text("/proc/self/cgroup") or "0::/")


def levels(path: str) -> list[str]:
    """Return a group and those above it, the root of the mount last: in a container its own group may be there.

    A group outside of a namespace (/../x) cannot be seen.
    """
    parts = [part for part in path.split("/") if part]
    if ".." in parts:
        return [""]
    return ["".join(f"/{part}" for part in parts[:count]) for count in range(len(parts), -1, -1)]
