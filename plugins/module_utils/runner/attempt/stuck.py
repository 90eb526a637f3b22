# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank has raised an exception and does not end: it hangs in a destructor, in a thread or in a collective.

Only what torch prints of an exception that nothing caught counts, and only while the node's ranks make no more steps:
any program may print a traceback and go on. That one goes on cannot be seen where no rank of the node prints steps.
"""

from __future__ import annotations

import time

from ..._records.cause import judge_rank
from ..._records.run import RankFailure
from .output import Output

# How long a rank may take to end after its exception before people are told.
RAISED_S = 10.0


def find_stuck(output: Output) -> RankFailure | None:
    """Return the rank that raised its exception first, some time ago, with it; the caller knows that none has ended."""
    printed = [log.printed for log in output.logs.values()]
    ranks = [(log.printed.raised, rank) for rank, log in output.logs.items() if rank is not None]
    times = [(item.time, rank) for item, rank in ranks if item and item.would_end and item.time is not None]
    stuck = [(when, rank) for when, rank in times if not any(one.has_moved_since(when) for one in printed)]
    when, rank = min(stuck, default=(time.time(), None))
    if rank is None or time.time() - when < RAISED_S:
        return None
    return judge_rank(output.explained(RankFailure(rank=rank, time=when)), [])
