# SPDX-License-Identifier: GPL-3.0-or-later
"""Start what the ranks of `pairs` run, from the runner's archive beside this file.

Placed beside the runner on the node and run by the training interpreter as any other script of a launch.
"""

from __future__ import annotations

import importlib
import os
import sys


def main() -> int:
    """Run the program."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner.pyz"))
    program = importlib.import_module("muster.runner.pairs.program")
    return int(program.main(sys.argv[1:]))


if __name__ == "__main__":
    raise SystemExit(main())
