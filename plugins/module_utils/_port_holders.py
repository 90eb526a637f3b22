# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose process listens on a port."""

from __future__ import annotations

from collections.abc import Mapping

from ._host import Host
from ._records import PortHolder


def find_holders(host: Host, sockets: Mapping[int, tuple[int, int]]) -> dict[str, PortHolder]:
    """Return by port (in digits) who holds the sockets (inode -> port, uid): the process that has the inode open."""
    holders = {str(port): PortHolder(None, None, None, uid) for port, uid in sockets.values()}
    left = {f"socket:[{inode}]": value for inode, value in sockets.items()}
    for pid in host.list_dir("/proc") or []:
        if not left:
            break
        if pid.isdigit():
            for descriptor in host.list_dir(f"/proc/{pid}/fd") or []:
                found = left.pop(host.read_link(f"/proc/{pid}/fd/{descriptor}") or "", None)
                if found is not None:
                    holders[str(found[0])] = _holder(host, pid, found[1])
    return holders


def _holder(host: Host, pid: str, uid: int) -> PortHolder:
    command = host.read_text(f"/proc/{pid}/comm")
    return PortHolder(int(pid), command.strip() if command else None, _run_id(host, pid), uid)


def _run_id(host: Host, pid: str) -> str | None:
    for variable in (host.read_text(f"/proc/{pid}/environ") or "").split("\0"):
        name, _equals, value = variable.partition("=")
        if name == "MUSTER_RUN_ID":
            return value
    return None
