# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches that wait for a slot, as `status` shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._cluster.slot import describe_owner
from .infos import Info


def lines(infos: Iterable[Info]) -> list[str]:
    """Return a line for each launch."""
    return [clean(f"  {_text(launch)}") for launch in _launches(infos)]


def data(infos: Iterable[Info]) -> list[dict[str, Any]]:
    """Return the launches as a document has them."""
    keys = ("run_id", "user", "since", "slot", "has_come")
    return [{key: getattr(launch, key) for key in keys} for launch in _launches(infos)]


def _launches(infos: Iterable[Info]) -> list[LaunchHolder]:
    """Return each launch once: it waits on every node."""
    known: dict[str | None, LaunchHolder] = {}
    for info in infos:
        for launch in info.waiting:
            known.setdefault(launch.nonce, launch)
    return list(known.values())


def _text(launch: LaunchHolder) -> str:
    state = "is about to start" if launch.has_come else f"waits for slot {launch.slot}"
    return f"{launch.run_id}{describe_owner(str(launch.node), launch, launch.since)} {state}"
