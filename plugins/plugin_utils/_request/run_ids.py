# SPDX-License-Identifier: GPL-3.0-or-later
"""Some run IDs, which are to be compared."""

from __future__ import annotations

from . import run_id

FEWEST, MOST = 2, 20
EXPECTED = f"{FEWEST} to {MOST} different run IDs, with commas between them, as list shows them"


def read_run_ids(raw: object) -> list[str]:
    """Return the run IDs of a text or a list in their order; raise ValueError if one is not valid, or there twice."""
    texts = [text.strip() for text in raw.split(",")] if isinstance(raw, str) else raw
    if not isinstance(texts, list) or not FEWEST <= len(texts) <= MOST:
        raise ValueError
    run_ids = [run_id.check(text) for text in texts if isinstance(text, str)]
    if not len(run_ids) == len(texts) == len(set(run_ids)):
        raise ValueError
    return run_ids
