# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done where NCCL's own log does not prove the fabric of a run."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.transport import FAIL, OFF, WARN

CHOICES = (OFF, WARN, FAIL)
# YAML reads off and on as false and true, too.
WORDS = {"true": WARN, "yes": WARN, "on": WARN, "false": OFF, "no": OFF}
EXPECTED = f"one of {', '.join(CHOICES)} (true is {WARN})"


def read_policy(raw: object) -> str:
    """Return one of the choices; raise ValueError for anything else."""
    text = str(raw).lower() if isinstance(raw, bool) else raw
    choice = WORDS.get(text.lower(), text) if isinstance(text, str) else None
    if choice not in CHOICES:
        raise ValueError
    return choice
