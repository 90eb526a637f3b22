# SPDX-License-Identifier: GPL-3.0-or-later
"""What the verbs that launch Muster's own programs decide: the program, and all that only other programs need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._findings.origin import DEFAULT
from .byte_size import size_text
from .settings import Setting, setting_of, setting_values
from .verbs import DECIDED_BY_PROGRAM, VERBS

# The runner brings them (module_utils/runner/attempt/), so that no node has to have them.
SCRIPTS = {"benchmark": "{run_dir}/collectives.py", "pairs": "{run_dir}/pairs.py"}
# What each line of progress counts.
COUNTED = {"benchmark": "size", "pairs": "round"}


def decided(verb: str) -> dict[str, Setting]:
    """Return the launch parameters that a verb with a program of its own does not take."""
    progress = rf"{COUNTED[verb]} (?P<step>[0-9]+) of (?P<total_steps>[0-9]+):"
    of_program = {"script": SCRIPTS[verb], "metrics_pattern": progress}
    return {
        parameter.name: setting_of(of_program.get(parameter.name, parameter.built_in()), DEFAULT)
        for parameter in VERBS["launch"]
        if parameter.name in DECIDED_BY_PROGRAM
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
