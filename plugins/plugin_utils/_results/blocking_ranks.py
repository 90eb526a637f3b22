# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks for which all others waited when every failure is that of a rank that lost its peers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.cause import has_timed_out, judge_text
from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import describe, explain
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._text.table import node_names
from .causes import Cause, Failure
from .hangs import hang_of


def find_blocking_ranks(runs: Iterable[RunRecord], failures: Sequence[Failure]) -> Failure | None:
    """Return the ranks that all others waited for: they exited early, or one hangs; None where a rank failed by itself.

    failures: of these runs, the most likely cause first.
    """
    parts = list(runs)
    if failures and failures[0].likeness is not Likeness.PEER:
        return None
    if (hang := hang_of(parts)) is not None and hang.node and hang.absent:
        return Failure(explain(hang), Likeness.OWN, Cause(hang.node, hang.absent[0], message=describe(hang)))
    if not failures:
        return None
    exited = sorted((rank, str(run.node)) for run in parts for rank in run.exited_ranks or ())
    if exited:
        first, node = exited[0]
        here = _words(rank for rank, place in exited if place == node)
        what = f"{here} exited with code 0 while other ranks were waiting"
        if others := [(rank, place) for rank, place in exited if place != node]:
            places = list(dict.fromkeys(place for _rank, place in others))
            what += f"; so did {_words(rank for rank, _place in others)} on {node_names(places)}"
        return Failure(what, Likeness.OWN, Cause(node, first, 0))
    hanging = [_hanging(run, rank) for run in parts for rank in run.running_ranks or ()]
    hanging = [failure for failure in hanging if judge_text("\n".join(failure.tail)) is Likeness.OWN]
    return hanging[0] if len(hanging) == 1 and has_timed_out(failures[0].what) else None


def _words(ranks: Iterable[int]) -> str:
    numbers = list(ranks)
    return f"rank{'s' * (len(numbers) > 1)} {spans(numbers)}"


def _hanging(run: RunRecord, rank: int) -> Failure:
    """Return a rank that was still running when others had waited too long, with the end of its log if it is known."""
    tail = next((failure.log_tail for failure in run.failures if failure.rank == rank), [])
    what = f"rank {rank} was still running when the other ranks had timed out waiting: it probably hangs"
    return Failure(what, Likeness.OWN, Cause(str(run.node), rank), tail=tail)
