# SPDX-License-Identifier: GPL-3.0-or-later
"""Text as a person may type it: in one line, and no longer than a path."""

from __future__ import annotations

import unicodedata

# Unicode categories: control, lone surrogates, line and paragraph separators.
CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})
PATH_MAX = 4096  # limits.h


def read_text(raw: object, longest: int = PATH_MAX) -> str:
    """Return text unchanged; of other types only whole numbers look the same in YAML and JSON as they were typed."""
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        raise ValueError
    text = str(raw)
    if len(text.encode(errors="surrogatepass")) > longest or any(unicodedata.category(c) in CONTROL for c in text):
        raise ValueError
    return text
