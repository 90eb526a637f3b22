# SPDX-License-Identifier: GPL-3.0-or-later
"""Which side of the gang a runner is: only that one is imported, because a runner compiles its files at each start."""

from __future__ import annotations

import selectors

from ..._records.job import Job
from .base import Gang
from .network import GangNetwork


def join_gang(job: Job, key: bytes, selector: selectors.BaseSelector, network: GangNetwork) -> Gang:
    """Return the head's side on the node with node rank 0, a member's on any other; raise ValueError without a key."""
    if job.nnodes > 1 and not key:
        raise ValueError("a run on several nodes needs a key")
    if job.node_rank == 0:
        from .head import Head

        return Head(job, key, selector, network)
    from .member import Member

    return Member(job, key, selector, network)
