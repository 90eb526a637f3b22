# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A slot of a work directory: one run at a time, and the holder's name."""

from __future__ import annotations

from .._host.host import Host
from .._records.node import Holder
from ..runner import locks


def read_holder(host: Host, workdir: str, node: str, slot: str) -> Holder | None:
    """Return the holder of a slot, None where it is free (or only another user may read the lock).

    The runner that holds a slot keeps a lock, so the answer is right even after a crash.
    """
    holder = locks.Lock(host.here(locks.slot_path(workdir, node, slot))).holder()
    return None if holder is None else Holder.from_dict(holder)
