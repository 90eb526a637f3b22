# SPDX-License-Identifier: GPL-3.0-or-later
"""Record this machine as text, or show what the collection detects on recorded ones: `machine.py --help`."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str]) -> int:
    """Run one of the two commands and return its exit code."""
    from ansible_collections.muster.train.tools._machine import record, show
    from ansible_collections.muster.train.tools._machine.arguments import Parser

    commands = {"record": record.main, "show": show.main}
    parser = Parser(prog="machine.py", description=__doc__)
    parser.add_argument("command", choices=commands)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see machine.py COMMAND --help")
    given = parser.parse_args(arguments)
    return commands[given.command](given.arguments)


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).resolve().parent / "_machine" / "checkout.py"))
    sys.exit(main(sys.argv[1:]))
