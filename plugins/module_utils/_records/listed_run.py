# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as the list of a work directory has it."""

from __future__ import annotations

from .document import Document, as_stamp
from .frozen import frozen


@frozen
class ListedRun(Document):
    """A run of a work directory: its phase as last written, and whether its runner lives."""

    OWN_READERS = {"created": as_stamp}  # noqa: RUF012

    run_id: str | None = None
    created: str | None = None
    phase: str | None = None
    alive: bool = False
