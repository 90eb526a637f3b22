# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/faults.md, written from the table of faults and the figures of a run of the suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.faults.table import ROWS, Row

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "faults.md"
FIGURES = Path(__file__).with_name("figures.json")
HEAD = """\
# What happens when …

<!-- Written by `python tests/faults/suite.py --write-docs FIGURES` from tests/faults/table.py. -->

The runners of a run hold together by themselves: no controller, scheduler or daemon takes part. Times are the policy's
defaults ([roles/launch/README.md](../roles/launch/README.md)). Each row is shown by the faults that `make faults`
makes, or by a test.

| what | then | verdict | shown by |
|---|---|---|---|
"""
MIDDLE = """
The head's `state.json` has the verdict and the reports of the nodes that did not end well; each other node's has the
verdict too, as the head told it, so that `status` works without the head.

## How long it takes

Seconds from the fault to the end of the last runner that can end, unless it says otherwise. Each round is a gang of
real runners on one machine, broken at a moment that the seed decides. It held when the verdict was right, no process
was left after `stop`, two strangers beside it, marked much alike, went on, and it took no longer than wanted.
`launch_abort_grace` is 2 s there, the grace of a stop 3 s.

Measured on {cores} cores with Python {python} and torch {torch}.

| fault | held | median | worst | wanted below |
|---|---|---|---|---|
"""


def page(figures: Mapping[str, Any]) -> str:
    """Return the page's text; figures is what the suite writes as JSON."""
    middle = MIDDLE.format(**figures["machine"])
    return HEAD + "".join(map(_row, ROWS)) + middle + "".join(map(_figure, figures["figures"]))


def _row(row: Row) -> str:
    tests = [f"[{name.partition('::')[2].replace('_', ' ')}](../{name.partition('::')[0]})" for name in row.tests]
    shown = "; ".join([*(fault.name for fault in row.faults), *tests])
    return f"| {row.what} | {row.then} | {row.verdict} | {shown} |\n"


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["skipped"]:
        return f"| {figure['fault']} | left out: {figure['skipped']} | | | |\n"
    cells = ["" if figure[name] is None else f"{figure[name]:.1f}" for name in ("median_s", "worst_s", "bound_s")]
    return f"| {figure['fault']} | {figure['held']} of {figure['rounds']} | {' | '.join(cells)} |\n"
