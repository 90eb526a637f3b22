# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of a diagnosis: each cause with its evidence and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._text.order import natural
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from ..._text.table import node_names, one_line
from .diagnosis import Diagnosis, LogPlace, likeliest
from .signature import CAUSE, CONSEQUENCE, NOTICE

TITLES = {CAUSE: "causes:", CONSEQUENCE: "what followed:", NOTICE: "also noted:"}
# Of a run that succeeded, none made it fail.
SURVIVED = {CAUSE: "lines that may matter:", CONSEQUENCE: "lines that may matter:", NOTICE: "also noted:"}
NARROWEST = 40
# Of an evidence line.
EVIDENCE = 240


def lines(diagnoses: Sequence[Diagnosis], width: int, *, has_succeeded: bool = False) -> list[str]:
    """Return all diagnoses in their order, numbered, with a title for each kind."""
    shown: list[str] = []
    titles, title = SURVIVED if has_succeeded else TITLES, None
    for number, diagnosis in enumerate(diagnoses, 1):
        if titles[diagnosis.signature.kind] != title:
            title = titles[diagnosis.signature.kind]
            shown += ["", title]
        shown += ["", *_lines(number, diagnosis, width)]
    return shown


def advice(why: str | None, tail: Iterable[str]) -> list[str]:
    """Return what is known of a failure by why it failed and its last lines: the cause, unless that says it, and a fix.

    Nothing where the catalog has none of the lines.
    """
    signature = likeliest([*([why] if why else []), *tail])
    if signature is None:
        return []
    is_said = signature.is_obvious and signature.matches((why or "").encode("utf-8", "replace"))
    return [*([] if is_said else [f"  likely cause: {signature.cause}"]), f"  what to do: {signature.fix}"]


def _lines(number: int, diagnosis: Diagnosis, width: int) -> list[str]:
    signature, first = diagnosis.signature, diagnosis.places[0]
    begin = f"{number}. "
    indent = " " * len(begin)
    pairs = [
        ("where", f"{_where(diagnosis.places)}: {diagnosis.count} line{'s' * (diagnosis.count != 1)}"),
        ("first", " ".join(filter(None, [first.sighting.time, f"{first.file}:{first.sighting.line}"]))),
        ("line", one_line(first.sighting.text, EVIDENCE)),
        ("fix", signature.fix),
        ("see", f"{signature.source} ({signature.name})"),
    ]
    size = max(len(title) for title, _text in pairs) + 2
    shown = _wrapped(begin, signature.cause, width, indent)
    for title, text in pairs:
        shown += _wrapped(f"{indent}{title + ':':<{size}}", clean(text), width, indent + " " * size)
    return shown


def _wrapped(begin: str, text: str, width: int, indent: str) -> list[str]:
    room = max(NARROWEST, width)
    return textwrap.wrap(text, room, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False)


def _where(places: Sequence[LogPlace]) -> str:
    """Return ``rank 3 on node1`` or ``ranks 0-7 on node0 and node1``."""
    ranks = sorted({place.rank for place in places if place.rank is not None})
    nodes = sorted({place.node for place in places if place.node}, key=natural)
    of_ranks = f"rank{'s' * (len(ranks) != 1)} {spans(ranks)}" if ranks else ""
    on = ("on " if ranks else "") + node_names(nodes) if nodes else ""
    return clean(" ".join(filter(None, [of_ranks, on])) or places[0].file)
