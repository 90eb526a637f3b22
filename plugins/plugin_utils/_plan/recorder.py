# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of torch's flight recorder, which keeps the last collectives of each rank for `hang_watch`.

torch has two names for most of them (c10d/FlightRecorder.cpp, ProcessGroupNCCL.hpp): the older one is read by all
versions, and gives a warning in the log since 2.9, which has the newer one. Where the ranks have a name already, with
whatever value, neither of the two is set.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.layout import HANGS

from .._findings.origin import DEFAULT
from .._nccl.variable_layers import variable

# Since which torch the newer names are read.
RENAMED = (2, 9)
BUFFER = ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE")
FILE = ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE")
ON_TIMEOUT = ("TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT")
# What newer versions keep without being asked: half a kilobyte for each collective.
COLLECTIVES = 2000


def variables(run_dir: str, torch: str | None, names: Collection[str]) -> list[Variable]:
    """Return the variables of one node; torch is its version, names are those of all variables that its ranks have."""
    prefix = posixpath.join(run_dir, HANGS, "nccl_trace_rank_")
    wanted = (
        (BUFFER, str(COLLECTIVES), "hang_watch reads the last collectives of each rank"),
        (ON_TIMEOUT, "1", "NCCL's watchdog saves them before it ends a rank"),
        (FILE, prefix, "where it saves them: it is collected"),
    )
    newer = _is_newer(torch)
    return [variable(pair[newer], value, DEFAULT, reason) for pair, value, reason in wanted if not {*pair} & {*names}]


def _is_newer(torch: str | None) -> bool:
    """Return whether a version of torch has the newer names; one that is not known may not."""
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", torch or "")
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= RENAMED
