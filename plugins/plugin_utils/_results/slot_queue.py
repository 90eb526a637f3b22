# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches in the queue for a slot: what keeps one from the slot, and those that `status` shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._cluster.node import silent_of
from .._cluster.silence import summarize, why_silent
from .._cluster.slot import EXPECTED, add_stop, describe_keeper, describe_owner
from .._findings.finding import Finding
from .._findings.invocation import Invocation
from .infos import Info
from .rows import duration


class Queue:
    """The queue on one node, as its module `run_queue` answers, or fails."""

    def __init__(self, node: str, slot: str, answer: Mapping[str, Any]) -> None:
        self._node, self._slot = node, slot
        self.admitted = bool(answer.get("admitted"))
        known = answer.get("ahead")
        ahead = filter(None, map(LaunchHolder.optional, known if isinstance(known, list) else []))
        holder = LaunchHolder.optional(answer.get("holder"))
        self._keepers = [*filter(None, [holder]), *ahead]
        self._silent = silent_of(node, answer, "it did not answer")

    def text(self, left: float | None = None) -> str:
        """Return what the launch waits for, and if it is given, how many seconds it still waits."""
        keeper = self._describe() or summarize(self._silent)
        more = len(self._keepers[1:])
        others = f"; {more} more launch{'es' if more > 1 else ''} ahead" if more else ""
        limit = "" if left is None else f"; for {duration(left)} at most"
        return clean(f"waiting on {self._node}: {keeper}{others}{limit}; Ctrl-C leaves the queue")

    def finding(self, wait: float, invocation: Invocation) -> Finding:
        """Return why the launch does not start after these seconds."""
        observed = self._describe()
        if observed is None:
            return why_silent(self._silent)
        remedy = invocation.fill(add_stop("wait for longer", self._keepers[0]))
        return Finding("slot", self._node, "fail", observed, f"{EXPECTED} within {duration(wait)}", "-e wait", remedy)

    def _describe(self) -> str | None:
        first = next(iter(self._keepers), None)
        return None if first is None else describe_keeper(self._slot, self._node, first, first.since)


def queue_lines(infos: Iterable[Info]) -> list[str]:
    """Return a line for each launch."""
    return [clean(f"  {_text(launch)}") for launch in _launches(infos)]


def queue_data(infos: Iterable[Info]) -> list[dict[str, Any]]:
    """Return the launches as a document has them."""
    keys = ("run_id", "user", "since", "slot", "admitted")
    return [{key: getattr(launch, key) for key in keys} for launch in _launches(infos)]


def _launches(infos: Iterable[Info]) -> list[LaunchHolder]:
    """Return each launch once: it waits on every node."""
    known: dict[str | None, LaunchHolder] = {}
    for info in infos:
        for launch in info.waiting:
            known.setdefault(launch.nonce, launch)
    return list(known.values())


def _text(launch: LaunchHolder) -> str:
    state = "is about to start" if launch.admitted else f"waits for slot {launch.slot}"
    return f"{launch.run_id}{describe_owner(str(launch.node), launch, launch.since)} {state}"
