# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run can do without: steps that read or call what others control, and may fail in any way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

_noted: set[str] = set()


@contextlib.contextmanager
def optional(what: str) -> Iterator[None]:
    """Let a step fail with one line in runner.log, whatever it raises.

    The line has the kind of the exception and where it was raised, and not its text, which may hold a secret.
    """
    try:
        yield
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" ({place.tb_frame.f_code.co_filename}, line {place.tb_lineno})"
        line = f"muster: {what} failed, and the run goes on without it: {type(error).__name__}{where}\n"
        if line not in _noted:
            _noted.add(line)
            sys.stderr.write(line)
            sys.stderr.flush()
