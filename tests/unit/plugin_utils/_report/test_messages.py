# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of a run says: tests/screens/messages/report.txt."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._report.metrics import read_rank
from ansible_collections.muster.train.plugins.plugin_utils._report.remarks import TEXTS, remark_text
from ansible_collections.muster.train.plugins.plugin_utils._report.run_text import lines
from ansible_collections.muster.train.plugins.plugin_utils._report.series import reduce
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.samples import TelemetryNote, read_node
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.summary import summarize
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.text import TEXTS as TELEMETRY_TEXTS
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.text import note_texts as telemetry_notes
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.text import unusual
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.text import TEXTS as TRACE_TEXTS
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.text import note_texts as trace_notes
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.trace import TraceSummary
from ansible_collections.muster.train.tests.support.report_parts import line, rank_of, reported_run
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.support.telemetry_parts import file_lines, gpu, node, sample

TWO_SAMPLES = file_lines(sample(number, [gpu(0)]) for number in range(2))
ODD = (
    [line(0, 1), line(0, 2, loss=math.nan), line(0, 3, step_ms=-3.6e6), line(0, 2)],
    [line(1, 4, loss=math.inf), line(1, 3), line(1, 5, step_ms=0.0), line(1, 4)],
)


def messages() -> Iterator[Message]:
    yield "a run", lines(reported_run())
    for count in (1, 2):
        damaged = [rank_of(rank, *known) for rank, known in enumerate(ODD[:count])]
        others = [read_rank(2 + number, text) for number in range(count) for text in ([], [b"{\n"])]
        remarks = reduce([*damaged, *others], 5 * count, {}, 0).remarks
        assert {remark.kind for remark in remarks} == {*TEXTS}
        yield f"metrics of {count} of each kind", [remark_text(remark) for remark in remarks]

    for count in (1, 12):
        gpus = summarize(
            [read_node("node0", TWO_SAMPLES), *(node(f"node{number + 1}") for number in range(count))]
        ).gpus
        yield f"telemetry in which {count} of the GPUs are too hot", unusual(gpus)
    for count in (1, 2):
        notes = [note for number in range(count) for note in odd_notes(f"node{number}", count)]
        assert {note.kind for note in notes} == {*TELEMETRY_TEXTS}
        yield f"telemetry of {count} of each kind", telemetry_notes(notes)
    for count in (1, 2, 5):
        traces = [TraceSummary(f"rank_{n}_trace.json", n, problem=kind) for kind in TRACE_TEXTS for n in range(count)]
        yield f"traces, {count} of each kind", trace_notes(traces)


def odd_notes(node: str, count: int) -> Iterator[TelemetryNote]:
    yield TelemetryNote(node, "no_answer", "nvidia-smi", None, 10.0, 3)
    yield TelemetryNote(node, "no_gpus", "amd-smi", "ERROR: no driver")
    yield from (TelemetryNote(node, kind, count=count) for kind in ("broken", "clock", "empty"))


def test_what_is_said_of_a_run() -> None:
    text = page_of(messages())
    assert text == kept("messages/report.txt", text)
