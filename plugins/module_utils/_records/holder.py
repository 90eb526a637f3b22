# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds a slot or a run, as a typed record. The runner takes this file along."""

from __future__ import annotations

from .document import Document
from .frozen import frozen


@frozen
class LaunchHolder(Document):
    """The launch that holds a slot or a run, or waits for it: whose it is, on which node, and since when (UTC).

    pid: of its runner. admitted, slot: of one that waits, whether it starts now, and for which slot it waits. A lock
    that could not be read has no name.
    """

    run_id: str | None = None
    nonce: str | None = None
    node: str | None = None
    user: str | None = None
    since: str | None = None
    pid: int | None = None
    waits: bool | None = None
    admitted: bool | None = None
    slot: str | None = None
