# SPDX-License-Identifier: GPL-3.0-or-later
"""Some of the ranks of a run, as a person writes them."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._text.spans import read_spans

EXPECTED = "ranks such as 0 or 0,8-15"


def read_ranks(raw: object) -> str:
    """Return the ranks of a number, a text or a list of either as one text; raise ValueError if there is another."""
    items = raw if isinstance(raw, list) else [raw]
    if any(isinstance(item, bool) or not isinstance(item, (int, str)) for item in items):
        raise ValueError
    text = "".join(",".join(map(str, items)).split())
    read_spans(text)
    return text
