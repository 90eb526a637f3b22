# SPDX-License-Identifier: GPL-3.0-or-later
"""What torch's flight recorder has of a rank: the JSON of `_dump_fr_trace_json` and `_dump_nccl_trace_json`.

`entries` are in the order in which the rank entered them. A collective that is complete is `completed`, or (Gloo's stay
`scheduled`) `retired` (torch/csrc/distributed/c10d/FlightRecorderDetail.hpp).
"""

from __future__ import annotations

from typing import Any

from ..._records.document import as_integer, as_integers, as_text
from ..._records.hang import MOST_GROUPS, MOST_NAME, Collective
from ..._records.hang_verdict import ALL
from ..._records.known import as_dict, parse_json
from ..._text.spans import spans


def parse_trace(text: str) -> list[Collective]:
    """Return how far the rank is in each group of processes, the group with its newest collective first.

    Sends and receives are left out: they have numbers of their own for each pair of ranks.
    """
    document = as_dict(parse_json(text))
    entries, groups_known = document.get("entries"), as_dict(document.get("pg_config"))
    groups: dict[str, Collective] = {}
    for item in entries if isinstance(entries, list) else []:
        entry = as_dict(item)
        seq, group = as_integer(entry.get("collective_seq_id")), _group(entry.get("process_group"), groups_known)
        if seq is None or group is None or entry.get("is_p2p") is True:
            continue
        is_pending = entry.get("retired") is not True and entry.get("state") != "completed"
        known = groups.pop(group, None)
        op = (as_text(entry.get("profiling_name")) or "?").rpartition(":")[2][:MOST_NAME]
        if known is not None and known.is_pending:  # the rank waits in the first one that is not complete
            groups[group] = Collective(group, known.op, known.seq, max(seq, known.last or 0), True)
        else:
            groups[group] = Collective(group, op, seq, seq, is_pending)
    newest = list(groups.values())[::-1]
    return sorted(newest, key=lambda item: (not item.is_pending, item.group != ALL))[:MOST_GROUPS]


def _group(value: object, known: dict[str, Any]) -> str | None:
    """Return the name of a group, which has a name and a description; that of all ranks by its description.

    NCCL's has its ranks as well, which tell groups of one name apart.
    """
    words = [as_text(word) for word in value[:2]] if isinstance(value, list) else []
    if len(words) < 2 or words[0] is None:
        return None
    ranks = as_integers(parse_json(as_text(as_dict(known.get(words[0])).get("ranks")) or ""))
    return ALL if words[1] == ALL else f"{words[0]}{f' (ranks {spans(ranks)})' if ranks else ''}"[:MOST_NAME]
