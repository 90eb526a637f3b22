# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D6: the parameters channels and threads as variables.

By default nothing is set: NCCL tunes itself. Both libraries read NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; the maximum
alone is only a limit, so N channels need both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._findings.finding import Finding
from .._findings.origin import Origin
from .library import Library
from .view import NodeView, decided, version_text

RULE = "D6"
THREADS = "NCCL_NTHREADS"
CHANNELS = ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS")
THREADS_PER_BLOCK = (2, 28)  # RCCL reads RCCL_THREADS_PER_BLOCK from here on; older ones ignore it silently


def variables(settings: Mapping[str, Mapping[str, Any]], library: Library) -> list[Variable]:
    """Turn channels and threads into variables, with the parameter's origin."""
    channels, threads = settings["channels"], settings["threads"]
    layer: list[Variable] = []
    if channels["value"] is not None:
        value, origin = str(channels["value"]), Origin.of(channels)
        layer += [
            decided(name, value, RULE, "the minimum and the maximum set the number", origin) for name in CHANNELS[:2]
        ]
    if threads["value"] is not None:
        value, origin = str(threads["value"]), Origin.of(threads)
        layer.append(decided(THREADS, value, RULE, "threads of an NCCL block", origin))
        if library.name == "rccl" and (library.version is None or library.version >= THREADS_PER_BLOCK):
            reason = "threads of an RCCL block, read by RCCL from 2.28 on"
            layer.append(decided("RCCL_THREADS_PER_BLOCK", value, RULE, reason, origin))
    return layer


def most_channels(library: Library) -> int:
    """Return the library's MAXCHANNELS (src/include/device.h)."""
    if library.name == "rccl":
        return 128
    return 32 if library.version is not None and library.version < (2, 25) else 64


def out_of_range(name: str, number: int, library: Library) -> tuple[str, int] | None:
    """Return what a library takes instead of this number of channels or threads, and its maximum; None if it is taken.

    The values are those of graph/tuning.cc getNthreads.
    """
    shown = version_text(library)
    if name in CHANNELS:
        most = most_channels(library)
        return (f"at most {most}, which is all that {shown} takes", most) if number > most else None
    if library.name == "rccl":
        wrong = number > 256 or number % 64
        return (f"a multiple of 64 up to 256, all that {shown} takes", 256) if wrong else None
    wrong = number not in (64, 128, 256, 512)
    return (f"64, 128, 256 or 512, which is all that {shown} takes", 512) if wrong else None


def libraries(node: NodeView) -> tuple[Library, ...]:
    """Return the libraries that ranks may load on the node: either one if it has no GPUs."""
    return (node.library,) if node.has_gpus else (Library("nccl", None), Library("rccl", None))


def limit_findings(settings: Mapping[str, Mapping[str, Any]], library: Library, node: str) -> list[Finding]:
    """Warn about channels and threads that this library reduces or does not take."""
    findings = []
    for parameter, name in (("channels", CHANNELS[0]), ("threads", THREADS)):
        setting = settings[parameter]
        if setting["value"] is not None and (limit := out_of_range(name, setting["value"], library)):
            observed, remedy = f"{parameter}={setting['value']}", f"use -e {parameter}={limit[1]} or less"
            findings.append(Finding("environment", node, "warn", observed, limit[0], setting["origin"], remedy))
    return findings
