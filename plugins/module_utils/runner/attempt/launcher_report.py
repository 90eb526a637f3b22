# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``torchrun.py`` reports of its ranks: JSON lists, one per line."""

from __future__ import annotations

from typing import Any

from ..._records.document import as_integers
from ..._records.known import parse_json
from ..._records.run import RankFailure
from .launcher_failure import describe


def failures(data: bytes) -> list[RankFailure]:
    """Return the failed ranks, none where it could not report.

    Each record: rank, local_rank, code (negative: signal), time (unix seconds), error (content of the rank's error
    file as torch's ErrorHandler writes it, or null).
    """
    return [describe(record) for record in _records(data) if "rank" in record]


def killed_ranks(data: bytes, first_rank: int) -> list[str]:
    """Return the ranks that torchrun killed because SIGTERM did not end them; ``torchrun.py`` reports local ranks."""
    killed = [record["killed"] for record in _records(data) if "killed" in record]
    return [str(first_rank + local_rank) for local_rank in killed if isinstance(local_rank, int)]


def is_closing(data: bytes) -> bool:
    """Return whether torchrun reported that it is stopping its ranks, as one of them has failed."""
    return any("closing" in record for record in _records(data))


def is_alone(data: bytes) -> bool:
    """Return whether no rank of the run has put anything into torchrun's store; reported by the head only."""
    return any("alone" in record for record in _records(data))


def ranks_in(data: bytes, name: str) -> list[int]:
    """Return the numbers of one of its lists, empty before it is reported.

    pids: of the ranks here, in their order. exited: the ranks that had exited with code 0 when torchrun began to end
    the others. running: those that were still running then.
    """
    lists = [as_integers(record.get(name)) for record in _records(data) if name in record]
    return (lists[-1] if lists else None) or []


def _records(data: bytes) -> list[dict[str, Any]]:
    lists = map(parse_json, data.splitlines())
    return [record for records in lists if isinstance(records, list) for record in records if isinstance(record, dict)]
