# SPDX-License-Identifier: GPL-3.0-or-later
"""The profilers that ranks can run under, by the parameter that asks for each."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen


@frozen
class Profiler:
    """A profiler's program and the package that has it; vendor and maker name those whose GPUs it profiles."""

    program: str
    package: str
    vendor: str
    maker: str


ROCPROF, NSYS = "rocprof", "nsys"
PROFILERS = {
    ROCPROF: Profiler("rocprofv3", "rocprofiler-sdk", "amd", "AMD"),
    NSYS: Profiler("nsys", "Nsight Systems", "nvidia", "NVIDIA"),
}


def profiler_of(values: Mapping[str, object]) -> str | None:
    """Return which profiler the values of a launch's parameters ask for, by its parameter."""
    return next((name for name in PROFILERS if values.get(name) is True), None)


def input_of(values: Mapping[str, object]) -> str | None:
    """Return the input file that the profiler reads, as it is named for the nodes."""
    path = values.get("rocprof_input")
    return str(path) if path and profiler_of(values) == ROCPROF else None
