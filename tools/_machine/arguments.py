# SPDX-License-Identifier: GPL-3.0-or-later
"""How machine.py's commands read their arguments and refuse them."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

USAGE = 2


class Parser(argparse.ArgumentParser):
    """A parser that needs one line for what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n")


def complain(script: str, message: str) -> int:
    """Say in one line what is wrong, and return the exit code for it."""
    print(f"{script}: {' '.join(message.split())}", file=sys.stderr)
    return USAGE
