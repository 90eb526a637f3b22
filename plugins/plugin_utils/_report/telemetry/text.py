# SPDX-License-Identifier: GPL-3.0-or-later
"""The telemetry of a run in words: what stands out, and what is odd."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..._page.page import count
from ..._results.rows import number_text
from ..._text.table import node_names
from .samples import TelemetryNote
from .summary import COMPARED, GpuSummary

UNITS = {"utilization": "{} %", "power_w": "{} W", "clock_mhz": "{} MHz", "temperature_c": "{} °C"}
WORDS = {"utilization": "utilization", "power_w": "power", "clock_mhz": "clock", "temperature_c": "temperature"}
# More of them than these are counted only: the table has them all.
MOST = 8


def unusual(gpus: Sequence[GpuSummary]) -> list[str]:
    """Return a line for each GPU that is throttled for another reason than its power, or that stands out."""
    medians = _medians(gpus)
    lines = [_line(gpu, medians) for gpu in gpus if gpu.troubles or gpu.outlier]
    more = len(lines) - MOST
    return lines if more <= 0 else [*lines[:MOST], f"{count(more, 'more GPU')} throttled or unlike the others"]


def _line(gpu: GpuSummary, medians: Mapping[str, float]) -> str:
    shares = gpu.throttled or {}
    parts = [f"throttled by {reason} in {shares[reason]:.0%} of the samples" for reason in gpu.troubles]
    parts += [
        f"{WORDS[name]} {_with_unit(name, getattr(gpu, name))} (median of all: {_with_unit(name, medians[name])})"
        for name in gpu.outlier
    ]
    return f"GPU {gpu.index} on {gpu.node}: {'; '.join(parts)}"


def _medians(gpus: Iterable[GpuSummary]) -> dict[str, float]:
    known = {name: [value for gpu in gpus if (value := getattr(gpu, name)) is not None] for name in COMPARED}
    return {name: statistics.median(values) for name, values in known.items() if values}


def _with_unit(name: str, value: float) -> str:
    return UNITS[name].format(number_text(value))


def note_texts(notes: Iterable[TelemetryNote]) -> list[str]:
    """Return what is odd, nodes with the same oddity together."""
    groups: dict[str, list[str]] = {}
    for note in notes:
        groups.setdefault(TEXTS[note.kind](note), []).append(note.node)
    return [f"{node_names(list(dict.fromkeys(nodes)))}: {text}." for text, nodes in groups.items()]


def _no_answer(note: TelemetryNote) -> str:
    return (
        f"{note.tool} gave no answer within {number_text(note.seconds or 0.0)} s, {note.calls or 0} times in a row, "
        "and was not asked again; try it on the node, as a GPU may hang"
    )


def _no_gpus(note: TelemetryNote) -> str:
    return f"{note.tool} showed no GPU: {note.why or 'it printed nothing'}"


def _broken(note: TelemetryNote) -> str:
    return f"{count(note.count, 'line')} of the telemetry could not be read and {_are(note)} left out"


def _clock(note: TelemetryNote) -> str:
    return f"{count(note.count, 'sample')} {_are(note)} left out, because the clock of the node was set back"


def _are(note: TelemetryNote) -> str:
    return "is" if note.count == 1 else "are"


TEXTS: dict[str, Callable[[TelemetryNote], str]] = {
    "no_answer": _no_answer,
    "no_gpus": _no_gpus,
    "broken": _broken,
    "clock": _clock,
    "empty": lambda _note: "the file of telemetry is empty",
}
