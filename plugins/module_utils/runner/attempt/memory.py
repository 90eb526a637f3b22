# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes of an attempt the kernel killed because memory ran out, by its own count and in its own words.

The count is that of the runner's control group, which its ranks inherit: `oom_kill` in memory.events (version 2) or in
memory.oom_control (version 1). The words are those of the kernel's log, where the user may read it.
"""

from __future__ import annotations

import collections
import contextlib
import os
import re
from collections.abc import Iterable, Iterator

CGROUPS, MOUNTS, LOG = "/proc/self/cgroup", "/proc/self/mountinfo", "/dev/kmsg"
EVENTS, CONTROL = "memory.events", "memory.oom_control"
# The kernel's log has a record a read, of at most 8 KiB (Documentation/ABI/testing/dev-kmsg).
RECORD_BYTES, MAX_RECORDS = 8192, 100_000
_KILLS = re.compile(r"^oom_kill ([0-9]{1,18})$", re.MULTILINE | re.ASCII)
_GROUP = re.compile(r"\boom-kill:.*\btask_memcg=([^,]*)")
_KILLED = re.compile(r"\bKilled process [0-9]+ \(")


def parse_groups(cgroups: str) -> dict[str, str]:
    """Return this process's control groups that can count: `memory` (version 1) or an empty name (2) -> path."""
    groups = {}
    for line in cgroups.splitlines():
        _number, _colon, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and (not controllers or "memory" in controllers.split(",")):
            groups["memory" if controllers else ""] = path
    return groups


def counters(cgroups: str, mounts: str) -> list[tuple[str, str]]:
    """Return (file, control group) of every count of OOM kills there may be, from cgroup and mountinfo of /proc/self.

    In a container, a mount shows a part of the hierarchy: the path of the group is taken from the mount's root.
    """
    groups = parse_groups(cgroups)
    files = []
    for line in mounts.splitlines():
        place, _dash, kind = line.partition(" - ")
        fields, (fstype, *options) = place.split(), kind.split() or [""]
        if len(fields) < 5 or fstype not in ("cgroup", "cgroup2"):
            continue
        if fstype == "cgroup" and "memory" not in ",".join(options[-1:]).split(","):
            continue
        group = groups.get("memory" if fstype == "cgroup" else "")
        root, point = fields[3].rstrip("/"), fields[4]
        if group is not None and f"{group.rstrip('/')}/".startswith(f"{root}/"):
            below = group[len(root) :].strip("/")
            files.append((os.path.join(point, below, CONTROL if fstype == "cgroup" else EVENTS), group))
    return files


def parse_kills(text: str) -> int | None:
    """Return the number of processes of a control group that were killed, None where the kernel does not count."""
    match = _KILLS.search(text)
    return int(match.group(1)) if match else None


def last_words(messages: Iterable[str], group: str) -> str | None:
    """Return the kernel's last message about a process of this control group that it killed."""
    words, foreign = None, False
    for message in messages:
        match = _GROUP.search(message)
        if match:
            foreign = not match.group(1).endswith(group.rstrip("/"))
        elif _KILLED.search(message) and not foreign:
            words = message.strip()
    return words


class KernelMemory:
    """The kernel's count and words since the sample before the last: what it killed long ago ended no rank now."""

    def __init__(self) -> None:
        files = counters(_read(CGROUPS), _read(MOUNTS))
        counts = ((file, group, parse_kills(_read(file))) for file, group in files)
        self._counter = next(((file, group) for file, group, kills in counts if kills is not None), None)
        self._samples = collections.deque([self._count() or 0], maxlen=2)
        self._log: int | None = None
        with contextlib.suppress(OSError):
            self._log = os.open(LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._log, 0, os.SEEK_END)
        self._words: str | None = None

    def sample(self) -> None:
        """Read the count; what was counted before the last time no longer explains a failure."""
        count = self._count()
        if count is not None:
            self._samples.append(count)

    def kills(self) -> int:
        """Return how many processes it has lately killed in the runner's control group."""
        return max(0, (self._count() or 0) - self._samples[0])

    def explain(self) -> str | None:
        """Return in words what it killed, None where it killed nothing."""
        kills = self.kills()
        if not kills or self._counter is None:
            return None
        self._words = last_words(self._messages(), self._counter[1]) or self._words
        count = f"the kernel killed {kills} process{'es' * (kills != 1)} of this node's control group"
        return f"out of memory, {count}" + (f" ({self._words})" if self._words else "")

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def _count(self) -> int | None:
        return None if self._counter is None else parse_kills(_read(self._counter[0]))

    def _messages(self) -> Iterator[str]:
        for _index in range(MAX_RECORDS if self._log is not None else 0):
            try:
                record = os.read(self._log or 0, RECORD_BYTES)
            except BrokenPipeError:  # some were overwritten
                continue
            except OSError:  # no more
                return
            yield record.decode("utf-8", "replace").partition(";")[2].partition("\n")[0]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
