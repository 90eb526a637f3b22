# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of HTML as elements and texts, for tests of what is on them."""

from __future__ import annotations

import html.parser
import itertools

VOID = {"meta", "br", "link", "img", "hr", "input"}
HOSTILE = "</title></text><script>alert('1')</script><img src=x onerror=alert(1)>\" onload=\"x {{ 7 * 7 }} {% if %}"


class PageParser(html.parser.HTMLParser):
    """Elements and texts of a page; an element that is not closed in its place is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _attributes in self.elements]

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def check_structure(document: PageParser) -> None:
    """One main heading, no level left out, every heading of a table with its scope, and nothing from elsewhere."""
    levels = [int(tag[1]) for tag in document.tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(level <= before + 1 for before, level in itertools.pairwise(levels))
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in document.elements if tag == "th")
    assert document.tags.count("table") == document.tags.count("caption")
    assert not {"script", "img", "link", "iframe", "object", "base"} & set(document.tags)
    for _tag, attributes in document.elements:
        assert not {"src", "href", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
