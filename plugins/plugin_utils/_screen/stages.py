# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a verb: the tasks that contact every node, each with one line when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._text.table import node_names

PREFIX = "muster.train."


@frozen
class Stage:
    """What a task does to the nodes, as the user reads it; a later task says why it failed on a node if reported.

    unchanged is what to say where it changed no node, checked where it only checked; None: the same.
    """

    done: str
    reported: bool = False
    unchanged: str | None = None
    checked: str | None = None

    def text(self, is_changed: bool, is_checked: bool) -> str:
        """Return what the task has done, with {} for the nodes."""
        return (self.checked if is_checked else None if is_changed else self.unchanged) or self.done


# By the task's step of a verb, and else by the module that it runs.
STAGES = {
    "launch.start": Stage("started {}", reported=True),
    # Of a launch that did not start on all nodes.
    "launch.withdraw": Stage("withdrew this launch from {}", unchanged="found nothing of this launch on {}"),
    "preflight.connect": Stage("tried connections from {}"),
    f"{PREFIX}node_facts": Stage("gathered {}"),
    f"{PREFIX}run_info": Stage("read the run on {}"),
    f"{PREFIX}run_stacks": Stage("took the stacks on {}"),
    f"{PREFIX}run_stop": Stage(
        "asked {} to stop", unchanged="found nothing to stop on {}", checked="looked for what to stop on {}"
    ),
    "collect.fetch": Stage("collected the run from {}", checked="looked for what to collect on {}"),
    f"{PREFIX}run_prune": Stage("cleaned up {}", checked="looked for what to remove on {}"),
}


def is_own(action: str) -> bool:
    """Whether a task is one of the collection's: it reports by itself what it changed, except for a copy."""
    return action.startswith(PREFIX) and action != f"{PREFIX}code_copy"


def stage_line(done: str, answered: Sequence[str], missing: Mapping[str, Sequence[str]], seconds: float) -> str:
    """Return ``gathered 126 of 128 nodes in 4.1 s: n7 and n9 unreachable``; missing has nodes by what is wrong.

    done is the text of the stage.

    A single node, such as the head, is named: ``read the run on n1 in 0.4 s``.
    """
    total = len(answered) + sum(map(len, missing.values()))
    nodes = f"{total} node{'' if total == 1 else 's'}"
    reached = nodes if len(answered) == total else f"{len(answered)} of {nodes}"
    if total == len(answered) == 1:
        reached = answered[0]
    wrong = ", ".join(f"{node_names(hosts)} {word}" for word, hosts in missing.items() if hosts)
    return f"{done.format(reached)} in {lasted(seconds)}{f': {wrong}' if wrong else ''}"


def lasted(seconds: float) -> str:
    """Return ``4.1 s``, ``34 s`` or ``2 min 5 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def task_title(name: str) -> str:
    """Return the name of a task with that of its role: ``memlock: Write the limits``."""
    role, colon, task = name.partition(" : ")
    return f"{role.rpartition('.')[2]}: {task.strip()}" if colon else name
