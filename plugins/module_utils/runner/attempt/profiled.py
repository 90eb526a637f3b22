# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a rank's command, without the profiler in front of it unless the rank is one of those to profile.

usage: profiled.py RANKS WORDS PROFILER... COMMAND...

RANKS is such as 0,8-15; the first WORDS words of what follows are the profiler's. The training interpreter runs it on
the node, where torchrun has set RANK; it becomes the command, so that torchrun gets its signals and its exit code.
"""

from __future__ import annotations

import os
import sys


def command_of(argv: list[str], rank: int) -> list[str]:
    """Return the command of a rank."""
    ranks, words, command = argv[0], int(argv[1]), argv[2:]
    spans = [[int(end) for end in span.split("-")] for span in ranks.split(",")]
    return command if any(span[0] <= rank <= span[-1] for span in spans) else command[words:]


if __name__ == "__main__":
    arguments = command_of(sys.argv[1:], int(os.environ["RANK"]))
    os.execvp(arguments[0], arguments)
