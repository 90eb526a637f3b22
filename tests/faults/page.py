# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/faults.md, written from the table of faults and the figures of a run of the suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.faults.row import Row
from ansible_collections.muster.train.tests.faults.table import ROWS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "faults.md"
FIGURES = Path(__file__).with_name("figures.json")
HEAD = """\
# What happens when something fails

<!-- Written by `python tests/faults/suite.py --write-docs FIGURES` from tests/faults/table.py. -->

The runners of a run need no controller, scheduler or daemon to react to faults. All times are the defaults of the
cluster's policy ([roles/launch/README.md](../roles/launch/README.md)). The evidence for each row is a fault that
`make faults` injects, or a test.

| event | reaction | verdict | evidence |
|---|---|---|---|
"""
MIDDLE = """
The head's `state.json` holds the verdict and the reports of the nodes that did not succeed. Every other node's
`state.json` holds the verdict too, so that `status` works without the head. While the head answers, a node that is
frozen or gone costs `status` and `stop` at most 12 s, or `launch_lost_after` where that is longer
([test_frozen_node](../tests/integration/test_frozen_node.py)).

## How long it takes

Seconds from the fault to the end of the last runner that can end, unless the row says otherwise. Every round starts a
gang of real runners on one machine and injects the fault at a random moment (the seed is fixed). A round passes if the
verdict is right, no process is left after `stop`, two unrelated processes with similar marks survive, and the time
stays below the bound. `launch_abort_grace` is 2 s in these rounds, the grace period of `stop` 3 s.

Some faults are made without touching the machine: flock(2) fails by a seccomp filter, disks are small or frozen file
systems of their own, and a clock is set back for one runner's Python and for the checkpoints of its ranks.

Measured on {cores} cores with Python {python} and torch {torch}.

| fault | passed | median (s) | worst (s) | bound (s) |
|---|---|---|---|---|
"""
SIMULATION = """
## What the simulation has found

Real rounds try few orders of messages. `make simulation` runs the code of the runners in a world
with a virtual clock and network ([tests/simulation](../tests/simulation/README.md)). Each defect is fixed; its command
fails again where the defect is put back. The tests are in
[test_simulation](../tests/unit/module_utils/runner/gang/test_simulation.py), which the commands call TESTS.

| defect | what it would have done | found by | command |
|---|---|---|---|
"""
# The defect, what it would have done, what found it, and the tests that fail with it.
DEFECTS = (
    (
        "a node that was cut off as its order to start was sent read it after it had been given up, and obeyed",
        "its ranks start beside those of the spare, and both write the same checkpoint",
        "a rank that starts on a node that was given up: the 130th history, after 3 s of CPU",
        "given_up",
    ),
    (
        "the head ended alone where not all nodes had answered a stop",
        "`stopped` on the head, while all other nodes say `failed` for the reason that the head had known",
        "nodes that contradict the head",
        "not_all_nodes_answer",
    ),
    (
        "a node that had succeeded and was cut off while the end travelled called the run lost",
        "without the head, `status` shows `lost` of a run that has succeeded",
        "nodes that contradict the head",
        "end_travels",
    ),
    (
        "a spare that came after the end, or was stopped before it reached the head, gave a verdict on the run",
        "without the head, `status` shows `failed` of a run that has succeeded",
        "nodes that contradict the head",
        "spare_that_comes_after",
    ),
)


def page(figures: Mapping[str, Any]) -> str:
    """Return the page's text; figures is what the suite writes as JSON."""
    middle = MIDDLE.format(**figures["machine"])
    defects = SIMULATION + "".join(
        f"| {' | '.join(cells)} | `pytest TESTS -k {tests}` |\n" for *cells, tests in DEFECTS
    )
    return HEAD + "".join(map(_row, ROWS)) + middle + "".join(map(_figure, figures["figures"])) + defects


def _row(row: Row) -> str:
    paths = dict.fromkeys(name.partition("::")[0] for name in row.tests)
    tests = [f"[{Path(path).stem}](../{path})" for path in paths]
    evidence = "; ".join([*(fault.name for fault in row.faults), *tests])
    return f"| {row.what} | {row.then} | {row.verdict} | {evidence} |\n"


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["skipped"]:
        return f"| {figure['fault']} | skipped: {figure['skipped']} | | | |\n"
    cells = ["" if figure[name] is None else f"{figure[name]:.1f}" for name in ("median_s", "worst_s", "bound_s")]
    return f"| {figure['fault']} | {figure['passed']} of {figure['rounds']} | {' | '.join(cells)} |\n"
