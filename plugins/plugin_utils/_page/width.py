# SPDX-License-Identifier: GPL-3.0-or-later
"""How wide a text is at most on a page: the reader's font is not known, and this is one of the wider ones."""

from __future__ import annotations

# Widths of characters narrower or wider than most, relative to the font size (DejaVu Sans).
_WIDTHS = {**dict.fromkeys("ijl.,:;'|!", 0.32), **dict.fromkeys("ft()[]-/ r", 0.4), **dict.fromkeys("mwMW@%…", 0.98)}


def text_width(text: str, size: float) -> float:
    """Estimate the maximum width of a text in CSS pixels at a font size."""
    return size * sum(_WIDTHS.get(sign, 0.72 if sign.isupper() else 0.64 if sign.isdigit() else 0.62) for sign in text)
