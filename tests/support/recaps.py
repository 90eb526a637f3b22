# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plays of a molecule scenario changed, from what molecule printed."""

from __future__ import annotations

import re
from collections.abc import Iterable

STEP = re.compile(r"INFO +\[(?P<scenario>\S+) > (?P<step>\w+)\] Executing$")
HOST = re.compile(r"(?P<host>\S+) +: ok=\d+ +changed=(?P<changed>\d+) ")
Changes = dict[str, int]


def steps(printed: str) -> list[tuple[str, Changes]]:
    """Return every step in order with how many tasks changed something on each host."""
    result: list[tuple[str, Changes]] = []
    for line in printed.splitlines():
        if step := STEP.match(line):
            result.append((step["step"], {}))
        elif result and (host := HOST.match(line)):
            result[-1][1][host["host"]] = int(host["changed"])
    return result


def surprises(played: Iterable[tuple[str, Changes]]) -> list[str]:
    """Say what a check did not predict, and what a second cleanup still found."""
    problems = []
    before: dict[str, Changes] = {}
    last = ""
    for step, changes in played:
        changed = any(changes.values())
        if (last, step) == ("check", "converge") and changes != before["check"]:
            problems.append(f"check predicted {before['check']}, converge changed {changes}")
        if (last, step) == ("converge", "check") and changed:
            problems.append(f"check after converge predicts {changes}")
        if step in before and step == "cleanup" and changed:
            problems.append(f"the second cleanup changed {changes}")
        before[step] = changes
        last = step
    return problems
