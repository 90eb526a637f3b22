# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory the services may lock from which logins, containers and jobs inherit the limit."""

from __future__ import annotations

from .._host.host import Host
from .._records.system import Limit
from .info import read_units

SERVICES = ("ssh.service", "sshd.service", "docker.service", "containerd.service", "kubelet.service", "slurmd.service")


def read_services(host: Host) -> dict[str, Limit] | None:
    """Return the limits of those that run, of this user's service manager as well; None below another root."""
    if not host.is_live:
        return None
    units = read_units(host, [*SERVICES, f"user@{host.user_id()}.service"])
    return {name: Limit(unit["soft"], unit["hard"]) for name, unit in units.items() if unit["pid"]}
