# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run ID: how it is made, what a valid one is, and the settings in it. Nodes check `_records.job.SAFE_RUN_ID`."""

from __future__ import annotations

import re
from datetime import datetime

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}?")
NONCE_DIGITS = 4
# The digits are optional: users may choose a run ID, too. What can be either they or a label is they.
RUN_ID_FORMAT = re.compile(
    r"multinode_(?P<channels>[0-9]+|auto)ch_(?P<threads>[0-9]+|auto)th_[0-9]{8}_[0-9]{6}"
    rf"(?:_(?P<label>{LABEL.pattern}))??(?:_[0-9a-f]{{{NONCE_DIGITS}}})?"
)
EXAMPLE = "multinode_42ch_256th_20261120_143052[_label]_3f9a"


def make(channels: int | None, threads: int | None, created: datetime, label: str | None, nonce: str) -> str:
    """Return the ID of a run created at that time (UTC); a number that NCCL decides appears as `auto`.

    The first digits of the launch's nonce tell it from another launch of the same second.
    """
    suffix = f"_{label}" if label else ""
    name = f"multinode_{channels or 'auto'}ch_{threads or 'auto'}th_{created:%Y%m%d_%H%M%S}{suffix}"
    return f"{name}_{nonce[:NONCE_DIGITS]}"


def check(text: str) -> str:
    """Return the run ID unchanged, or raise ValueError with what is expected."""
    if "/" in text or "\\" in text or text in (".", ".."):
        # A run ID becomes the name of a directory on the nodes and on the controller.
        raise ValueError(f"a run ID (a name, not a path) such as {EXAMPLE}")
    if not RUN_ID_FORMAT.fullmatch(text):
        raise ValueError(f"a run ID such as {EXAMPLE}")
    return text


def settings_in(text: str) -> list[str]:
    """Return the settings that a run ID shows, for example `channels=42`; none of a text that is not one."""
    match = RUN_ID_FORMAT.fullmatch(text)
    return [f"{name}={match[name]}" for name in ("channels", "threads")] if match else []


def label_in(text: str) -> str:
    """Return the label that a run ID shows, empty where there is none."""
    match = RUN_ID_FORMAT.fullmatch(text)
    return (match["label"] or "") if match else ""
