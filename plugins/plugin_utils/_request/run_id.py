# SPDX-License-Identifier: GPL-3.0-or-later
"""The run ID: how it is made, what a valid one is, and the settings in it. Nodes check `_records.job.SAFE_RUN_ID`.

It begins with the channels and threads of the run where either is given, else with the name of its program.
"""

from __future__ import annotations

import posixpath
import re
from datetime import datetime

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}?")
NONCE_DIGITS = 4
TIME_FORMAT = "%Y%m%d_%H%M%S"
NEW_S = 60.0
PROGRAM_MAX = 32  # with the longest label a run ID has 94 characters, of 128 that a node takes
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
NAMELESS = "run"  # for a program without a safe character in its name
# The last digits are optional: users may choose a run ID, too. What can be either they or a label is they.
RUN_ID_FORMAT = re.compile(
    r"(?:multinode_(?P<channels>[0-9]+|auto)ch_(?P<threads>[0-9]+|auto)th"
    rf"|[A-Za-z0-9][A-Za-z0-9._-]{{0,{PROGRAM_MAX - 1}}}?)_(?P<time>[0-9]{{8}}_[0-9]{{6}})"
    rf"(?:_(?P<label>{LABEL.pattern}))??(?:_[0-9a-f]{{{NONCE_DIGITS}}})?"
)
# A sweep has a name of the same kind.
SWEEP = re.compile(r"sweep_[0-9]{8}_[0-9]{6}[A-Za-z0-9._-]{0,60}")
EXAMPLE = "multinode_42ch_256th_20261120_143052[_label]_3f9a"


def make(subject: str, created: datetime, label: str | None, nonce: str) -> str:
    """Return the ID of a run created at that time (UTC); `subject` is what `subject_of` returned.

    The first digits of the launch's nonce tell it from another launch of the same second.
    """
    suffix = f"_{label}" if label else ""
    return f"{subject}_{created:{TIME_FORMAT}}{suffix}_{nonce[:NONCE_DIGITS]}"


def subject_of(channels: int | None, threads: int | None, script: str | None, module: str | None) -> str:
    """Return what a run ID begins with: `multinode_42ch_autoth` (auto: NCCL decides), `train`, `torchtitan.train`.

    A script's name has no directory and no suffix; of a long module's name the last parts that fit are taken.
    """
    if channels or threads:
        return f"multinode_{channels or 'auto'}ch_{threads or 'auto'}th"
    if module:
        parts = module.split(".")
        while len(".".join(parts)) > PROGRAM_MAX and len(parts) > 1:
            del parts[0]
        name = ".".join(parts)
    else:
        name = posixpath.splitext(posixpath.basename(script or ""))[0]
    return UNSAFE.sub("-", name).lstrip("._-")[:PROGRAM_MAX].rstrip("._-") or NAMELESS


def check(text: str) -> str:
    """Return the run ID unchanged, or raise ValueError with what is expected."""
    if "/" in text or "\\" in text or text in (".", ".."):
        # A run ID becomes the name of a directory on the nodes and on the controller.
        raise ValueError(f"a run ID (a name, not a path) such as {EXAMPLE}")
    if not RUN_ID_FORMAT.fullmatch(text):
        raise ValueError(f"a run ID such as {EXAMPLE}")
    return text


def is_new(text: str, now: datetime) -> bool:
    """Return whether the time in a run ID is the present, so that nothing can have been launched under it before."""
    match = RUN_ID_FORMAT.fullmatch(text)
    try:
        created = datetime.strptime(match["time"] if match else "", TIME_FORMAT).replace(tzinfo=now.tzinfo)
    except ValueError:
        return False
    return abs((now - created).total_seconds()) < NEW_S


def settings_in(text: str) -> list[str]:
    """Return the settings that a run ID shows, for example `channels=42`; none of a text that is not one."""
    match = RUN_ID_FORMAT.fullmatch(text)
    return [f"{name}={match[name]}" for name in ("channels", "threads") if match[name]] if match else []


def label_in(text: str) -> str:
    """Return the label that a run ID shows, empty where there is none."""
    match = RUN_ID_FORMAT.fullmatch(text)
    return (match["label"] or "") if match else ""
