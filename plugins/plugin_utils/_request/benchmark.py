# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark decides of the launch that it is: its program, and all that only other programs need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._findings.origin import DEFAULT
from .byte_size import size_text
from .settings import Setting, setting_of, setting_values
from .verbs import DECIDED_BY_BENCHMARK, VERBS

# The runner brings it (module_utils/runner/attempt/collectives.py), so that no node has to have it.
SCRIPT = "{run_dir}/collectives.py"
PROGRESS = r"size (?P<step>[0-9]+) of (?P<total_steps>[0-9]+):"
DECIDED = {"script": SCRIPT, "metrics_pattern": PROGRESS}


def decided() -> dict[str, Setting]:
    """Return the launch parameters that a benchmark does not take."""
    return {
        parameter.name: setting_of(DECIDED.get(parameter.name, parameter.built_in()), DEFAULT)
        for parameter in VERBS["launch"]
        if parameter.name in DECIDED_BY_BENCHMARK
    }


def benchmark_errors(settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield what is wrong between the parameters of a benchmark."""
    values: dict[str, Any] = setting_values(settings)
    least, most = values.get("min_bytes"), values.get("max_bytes")
    if least is not None and most is not None and least > most:
        yield (
            f"max_bytes: expected at least min_bytes, {size_text(least)} ({settings['min_bytes']['origin']}), "
            f"saw {size_text(most)} ({settings['max_bytes']['origin']}); give a larger one, or a smaller min_bytes"
        )
