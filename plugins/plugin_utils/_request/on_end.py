# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens when a run ends: a command on the controller, or a notice that the head sends."""

from __future__ import annotations

import shlex

from ansible_collections.muster.train.plugins.module_utils._records.notice import is_sent

EXPECTED = (
    "a command such as './notify --all', a web address without a password such as https://example.com/hook, or "
    "secret:NAME for an address in launch_secrets"
)


def check(text: str) -> str:
    """Return the value unchanged, or raise ValueError with what was expected."""
    if is_sent(text):
        return text
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{EXPECTED}, but its quotes do not match ({error})") from None
    if not words or words[0].startswith("secret:") or "://" in words[0]:
        raise ValueError(EXPECTED)
    return text
