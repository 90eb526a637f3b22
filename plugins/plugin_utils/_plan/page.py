# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan of a launch found, as a page: why the launch was refused, or its warnings."""

from __future__ import annotations

from collections.abc import Iterable

from .._findings.finding import Finding
from .._page.page import Header, Headline, count
from .._page.page import render as render_page
from .._page.problems import problems


def render(nodes: int, findings: Iterable[Finding], refused: bool) -> str:
    """Return the page; nodes is the number of those that were requested."""
    listed = problems(findings)
    if refused:
        verdict = Headline("fail", f"The launch was refused: {count(len(listed), 'problem')}", ["Nothing was started."])
    elif listed:
        verdict = Headline("warn", f"The launch was planned, with {count(len(listed), 'warning')}")
    else:
        verdict = Headline("pass", "The launch was planned", ["No problem was found."])
    header = Header(f"Launch on {count(nodes, 'node')}", verdict)
    return render_page("launch.html.j2", header, {"problems": listed})
