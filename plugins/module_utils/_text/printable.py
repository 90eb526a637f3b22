# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that a terminal only prints.

Ansible prints messages and warnings of modules as they are, and what they quote may be a rank's, a tool's or a name.
"""

from __future__ import annotations

import re

# Colors, cursor movements and titles (ECMA-48): a log is full of them, and none may reach the user's terminal.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_text(name: str) -> bool:
    """Return whether a name can be encoded and has no control character: sftp reads its commands line by line."""
    return _CONTROL.search(name) is None


def clean(text: object) -> str:
    """Return one line that a terminal only prints: no escapes, blanks for tabs and newlines, � for the unprintable."""
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else "\N{REPLACEMENT CHARACTER}"
        for sign in _ESCAPES.sub("", str(text))
    )
