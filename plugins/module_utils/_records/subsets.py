# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of a node's facts are asked for."""

from __future__ import annotations

from collections.abc import Iterable

# What a node is.
IDENTITY = (
    *("net", "rdma", "gpu", "code", "files", "limits", "slot"),
    *("container", "disk", "versions", "tools", "kernel", "inherited"),
)
# The node's health, which only preflight reads; a launch reads gpu_processes alone.
HEALTH = (
    *("clock", "names", "devices", "engine", "reach", "kernel_log"),
    *("processes", "memory", "sudo", "interfaces", "gpu_health", "gpu_processes"),
    *("rdma_health", "services"),
)
SUBSETS = (*IDENTITY, *HEALTH)
# `min` is what is always there, so that it can be asked for alone.
# `!min`, as people write it for setup, changes nothing.
CHOICES = ("all", "min", *SUBSETS, "!all", "!min", *(f"!{name}" for name in SUBSETS))


def select(asked: Iterable[str]) -> tuple[str, ...]:
    """Return the subsets meant, as ansible.builtin.setup does: `!name` takes away, and from all if nothing is added."""
    words = set(asked)
    added = {word for word in words if not word.startswith("!")}
    everything = "all" in added or (not added and "!all" not in words)
    return tuple(name for name in SUBSETS if (everything or name in added) and f"!{name}" not in words)
