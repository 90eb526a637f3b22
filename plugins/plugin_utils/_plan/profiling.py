# SPDX-License-Identifier: GPL-3.0-or-later
"""The profiler in front of a rank's command.

It stands in front of each rank, not of the launcher, as AMD's and NVIDIA's documentation of MPI has it: exit codes and
signals are the ranks', and no trace has the launcher. The profilers themselves put the rank and the process ID into the
names of their files, so that no rank and no attempt overwrites another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._text.spans import read_spans

from .._cluster.profilers import NSYS, PROFILERS, ROCPROF, input_of, profiler_of
from .._findings.finding import Finding
from .._request.settings import setting_values


def wrapper(values: Mapping[str, Any], facts: NodeFacts, python: str, run_dir: str, output_dir: str) -> tuple[str, ...]:
    """Return the words in front of a rank's command, none without a profiler."""
    name = profiler_of(values)
    if name is None:
        return ()
    program = (facts.profiler.path if facts.profiler else None) or PROFILERS[name].program
    words = (program, *OPTIONS[name](values, facts, output_dir))
    if not values["profile_ranks"]:
        return words
    return (python, f"{run_dir}/profiled.py", values["profile_ranks"], str(len(words)), *words)


def _rocprof(values: Mapping[str, Any], facts: NodeFacts, output_dir: str) -> Sequence[str]:
    """Return the options of rocprofv3, which writes below the directory: HOSTNAME/PID_kernel_trace.csv."""
    path = input_of(values)
    file = (facts.files or {}).get(path) if path else None
    chosen = ["-i", file.path if file else path] if path else ["--kernel-trace", *(["--stats"] * values["stats"])]
    return [*chosen, *values["profiler_args"], "-d", f"{output_dir}/rank_%env{{RANK}}%_rocprof", "--"]


def _nsys(values: Mapping[str, Any], _facts: NodeFacts, output_dir: str) -> Sequence[str]:
    """Return the command and options of nsys, which adds .nsys-rep to the name."""
    return ["profile", "-o", f"{output_dir}/rank_%q{{RANK}}_nsys.%p", *values["profiler_args"]]


OPTIONS = {ROCPROF: _rocprof, NSYS: _nsys}


def check_ranks(settings: Mapping[str, Mapping[str, Any]], world_size: int) -> Iterator[Finding]:
    """Find ranks to profile that the run does not have."""
    ranks, values = settings["profile_ranks"], setting_values(settings)
    last = max(numbers[-1] for numbers in read_spans(ranks["value"] or "0"))
    if profiler_of(values) and last >= world_size:
        observed, expected = f"rank {last} is to be profiled", f"ranks from 0 to {world_size - 1}"
        remedy = "name ranks of the run with -e profile_ranks=RANKS"
        yield Finding("profile_ranks", None, "fail", observed, expected, ranks["origin"], remedy)
