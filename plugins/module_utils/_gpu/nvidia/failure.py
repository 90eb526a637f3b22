# SPDX-License-Identifier: GPL-3.0-or-later
"""Why nvidia-smi lists no GPU: because they do not work, or because the tool itself cannot run?

Its words are NVML's (nvmlErrorString) and its own; its exit codes are in its manual, "RETURN VALUE". What it does when
its library is missing says nothing about the GPUs: CUDA has another one.
"""

from __future__ import annotations

import re

from ..._host.command import LINE_LIMIT, CommandResult
from ..._host.pci import normalize
from ..._records.gpu import GpuFault

NOT_KNOWN = "unknown"
# The index is named by new drivers only.
HANDLE_LINE = re.compile(
    r"^Unable to determine the device handle for GPU ?(?:([0-9]{1,4}): )?([0-9a-fA-F:.]{7,16}): .*", re.MULTILINE
)
# A line may have several: "the device handle … GPU requires reset" asks for a reset.
_KINDS = (
    ("versions", re.compile(r"library version mismatch", re.IGNORECASE)),
    ("reset", re.compile(r"requires (?:a )?reset|reset required", re.IGNORECASE)),
    ("lost", re.compile(r"determine the device handle|gpu is lost|fallen off the bus", re.IGNORECASE)),
    ("driver", re.compile(r"communicate with the nvidia driver|driver (?:is )?not loaded", re.IGNORECASE)),
    ("none", re.compile(r"no devices (?:were )?found", re.IGNORECASE)),
    ("denied", re.compile(r"insufficient (?:user )?permissions", re.IGNORECASE)),
    (NOT_KNOWN, re.compile(r"libnvidia-ml|nvml shared library|shared librar|command not found", re.IGNORECASE)),
)
# Printed instead of a value; other words may be about the value alone ("Function Not Found").
_BROKEN_VALUES = ("Unknown Error", "ERR!")
# 2, 12, 13: a wrong option, no NVML, an NVML without the function; 126, 127: a shell found no program.
_KIND_OF_CODE = {
    4: "denied",
    6: "none",
    9: "driver",
    15: "lost",
    **dict.fromkeys((0, 2, 12, 13, 126, 127), NOT_KNOWN),
}


def parse_failure(result: CommandResult, limit_s: float) -> GpuFault:
    """Return why a call that had limit_s seconds lists no GPU."""
    why = result.why(limit_s)
    if result.timed_out:
        return GpuFault("hangs", why, "nvidia-smi")
    if result.rc is None:
        return GpuFault(NOT_KNOWN, why, "nvidia-smi")
    kinds = {line.strip(): kind_of(line) for line in f"{result.err[:65536]}\n{result.out[:65536]}".splitlines()}
    line, kind = next(((line, kind) for line, kind in kinds.items() if kind), (why, None))
    of_code = NOT_KNOWN if result.rc < 0 else _KIND_OF_CODE.get(result.rc, "other")
    match = HANDLE_LINE.match(line)
    return GpuFault(kind or of_code, line[:LINE_LIMIT], "nvidia-smi", normalize(match.group(2)) if match else None)


def kind_of(line: str) -> str | None:
    """Return the kind of fault that a line of the tool names."""
    return next((kind for kind, pattern in _KINDS if pattern.search(line)), None)


def kind_of_value(words: str) -> str | None:
    """Return the kind of fault that is printed instead of a value, None if the GPU may work nevertheless."""
    return kind_of(words) or ("other" if words in _BROKEN_VALUES else None)
