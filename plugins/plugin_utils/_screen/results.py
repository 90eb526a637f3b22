# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened in one task, on whichever hosts: those of which the same can be said share a line."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._text.table import node_names

# Of the items of a loop.
MOST_LABELS = 6


class TaskLog:
    """The results of one task: hosts by kind of result and by what is said of it, in the order of their arrival."""

    def __init__(self, started: float) -> None:
        self.started = self.ended = started
        self.hosts: dict[str, dict[str, list[str]]] = {}
        self.labels: list[str] = []

    def add(self, kind: str, text: str, host: str) -> bool:
        """Record a result; return whether it is the first of its kind and text."""
        hosts = self.hosts.setdefault(kind, {}).setdefault(text, [])
        if host not in hosts:
            hosts.append(host)
        return len(hosts) == 1

    def add_label(self, label: str) -> None:
        """Record an item of a loop that changed something."""
        if label not in self.labels:
            self.labels.append(label)

    def of(self, *kinds: str) -> list[str]:
        """Return the hosts with a result of these kinds."""
        lists = [hosts for kind in kinds for hosts in self.hosts.get(kind, {}).values()]
        return list(dict.fromkeys(host for hosts in lists for host in hosts))

    def texts(self, kind: str) -> Iterable[tuple[str, list[str]]]:
        """Return what is said of results of a kind, and of which hosts."""
        return self.hosts.get(kind, {}).items()

    @property
    def items(self) -> str:
        """The items of a loop that changed something, in parentheses."""
        more = ["…"] if len(self.labels) > MOST_LABELS else []
        return f" ({', '.join([*self.labels[:MOST_LABELS], *more])})" if self.labels else ""


def message_lines(title: str, text: str) -> list[str]:
    """Return ``title: first line`` and the other lines below it; a text that begins with a new line is indented."""
    if text.startswith("\n"):
        return [f"{title}:", *text.strip("\n").splitlines()]
    first, *others = text.rstrip("\n").splitlines() or [""]
    return [f"{title}: {first}", *(f"{' ' * (len(title) + 2)}{line}".rstrip() for line in others)]


def failed_command(result: Mapping[str, Any]) -> str:
    """Return what a command that failed was, its exit code, and below them what it printed."""
    cmd = result["cmd"] if isinstance(result["cmd"], str) else shlex.join(map(str, result["cmd"]))
    printed = [text for text in (str(result["stdout"]).strip(), str(result["stderr"]).strip()) if text]
    return "\n".join([f"{cmd} exited with code {result['rc']}", *printed])


def recap(counts: Mapping[str, Counter[str]]) -> list[str]:
    """Return a line for the hosts with the same counts: ``n[1-3]: 2 changed, 1 failed``; nothing without counts."""
    alike: dict[str, list[str]] = {}
    for host, count in counts.items():
        text = ", ".join(f"{number} {word}" for word, number in count.items() if number)
        if text:
            alike.setdefault(text, []).append(host)
    return [f"{node_names(hosts)}: {text}" for text, hosts in alike.items()]
