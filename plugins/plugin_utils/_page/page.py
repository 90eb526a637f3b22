# SPDX-License-Identifier: GPL-3.0-or-later
"""A page of HTML: one file, no script, nothing from the network.

The templates have no logic except loops and choices. Jinja2 escapes every value: names and reasons from hosts are data
and never markup.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.finding import Status

TEMPLATES = Path(__file__).parent / "templates"
SUBTITLE = '<p class="subtitle">{}</p>'  # as in the template


@frozen
class Headline:
    """The verdict, which the page says first; notes are sentences below it."""

    status: Status
    text: str
    notes: Sequence[str] = ()


@frozen
class Header:
    """The top of a page; figures are names and numbers."""

    title: str
    verdict: Headline
    figures: Sequence[tuple[str, str]] = ()


def render(template: str, header: Header, content: Mapping[str, Any]) -> str:
    """Fill a template; the page has no subtitle yet."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(header=header, **content) + "\n"


def finished(page: str, created: str, command: str) -> str:
    """Say when and by which command the page was made; its last line marks its content, whatever they are."""
    subtitle = SUBTITLE.format(html.escape(f"{created} · {command}"))
    digest = hashlib.sha256(page.encode()).hexdigest()
    return f"{page.replace(SUBTITLE.format(''), subtitle, 1)}<!-- content: {digest} -->\n"


def same_content(page: str, other: str) -> bool:
    """Return whether two pages are the same except for when and by which command they were made."""
    return page.splitlines()[-1:] == other.splitlines()[-1:]


def count(number: int, what: str) -> str:
    """Return `1 node` or `2 nodes`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
