# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel's log of this boot says of GPUs and adapters.

The journal has the whole boot; the kernel's ring (dmesg) loses its beginning. Who may not read gets no lines, and no
lines are no good news: a boot always has some. Times are the kernel's own, since the boot: there is no year to guess.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._budget import Budget
from ._health_records import KernelLog
from ._host import Host
from ._kernel_errors import errors_of, parse_dmesg, parse_journal

JOURNAL = (
    *("journalctl", "--dmesg", "--boot", "--output=json", "--no-pager", "--quiet"),
    "--output-fields=MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP",
)
RING = ("dmesg",)
CAP_S = 5.0
HINT = "root may read it, and on most systems the groups adm and systemd-journal"


def read_kernel_log(host: Host, as_root: Sequence[str] = ()) -> KernelLog | None:
    """Return the errors in the log, None for another root; as_root are words to put before the commands."""
    if not host.own:
        return None
    budget = Budget(host)
    whys = []
    for command, parse in ((JOURNAL, parse_journal), (RING, parse_dmesg)):
        result = budget.run([*as_root, *command], CAP_S)
        lines = parse(result.out) if result.rc == 0 else []
        if lines:
            complete = command is JOURNAL or lines[0].monotonic_s == 0.0
            return KernelLog(True, None, errors_of(lines), command[0], complete)
        whys.append(f"{command[0]}: {result.why(CAP_S).removeprefix(f'{command[0]}: ')}")
    return KernelLog(False, "; ".join([*whys, HINT]))
