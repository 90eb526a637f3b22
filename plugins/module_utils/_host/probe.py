# SPDX-License-Identifier: GPL-3.0-or-later
"""Run several readers side by side, each within a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple


class Probed(NamedTuple):
    """Answers by name, None for a probe that failed or was late, with a warning for each of these."""

    answers: dict[str, Any]
    warnings: list[str]


def run_probes(
    probes: Mapping[str, Callable[[], Any]],
    cap: float,
    timings: dict[str, int] | None = None,
    longer: Mapping[str, float] | None = None,
) -> Probed:
    """Return each probe's answer within cap s, or its cap in longer; add to timings what each took in ms, at most that.

    One thread per probe: nothing else can abandon a read from a file server that is gone.
    """
    answers: dict[str, Any] = {}
    errors: dict[str, str] = {}
    ended: dict[str, float] = {}

    def answer(name: str) -> None:
        try:
            answers[name] = probes[name]()
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}"
        ended[name] = time.monotonic()

    threads = {name: threading.Thread(target=answer, args=(name,), daemon=True) for name in probes}
    begin = time.monotonic()
    caps = {name: max(cap, (longer or {}).get(name, cap)) for name in probes}
    for thread in threads.values():
        thread.start()
    for name, thread in threads.items():
        thread.join(max(0.0, begin + caps[name] - time.monotonic()))
    in_time = dict(answers)
    reasons = {name: errors.get(name, f"no answer within {caps[name]} s") for name in probes if name not in in_time}
    if timings is not None:
        took = {name: min(ended.get(name, begin + caps[name]) - begin, caps[name]) for name in probes}
        timings.update({name: round(seconds * 1000) for name, seconds in took.items()})
    return Probed(
        answers={name: in_time.get(name) for name in probes},
        warnings=[f"{name}: could not be read: {why}" for name, why in reasons.items()],
    )
