# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read: plain lines, and one line that is redrawn on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence

from ansible import constants
from ansible.errors import AnsiblePromptInterrupt, AnsiblePromptNoninteractive
from ansible.parsing.dataloader import DataLoader
from ansible.utils.display import Display

from .output_format import is_document_requested

display = Display()


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


# The name of the callback that prints results.
CALLBACK = str(constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2]
# With these ones the standard output is one document, which other lines would break.
IS_DOCUMENT_OF_CALLBACK = CALLBACK in ("json", "jsonl")
# Ansible has read the extra variables before it loads this file, so no vault has to be opened again.
IS_DOCUMENT = IS_DOCUMENT_OF_CALLBACK or is_document_requested(DataLoader())
# A worker has no terminal of its own; what the user has is what it was when Ansible imported this file. The terminal of
# ansible-runner, whose callback is awx_display, is read by a program.
ON_TERMINAL = sys.stdout.isatty() and _in_foreground() and CALLBACK != "awx_display" and not IS_DOCUMENT
CLEARED = "\r\x1b[K"
# A longer line would wrap, and redrawing it would leave its first part behind.
WIDEST = shutil.get_terminal_size().columns - 1
PLAIN_EVERY_S = 10.0
# A line without news shows that the command still runs.
UNCHANGED_EVERY_S = 300.0


def print_line(text: str, color: str | None = None, screen_only: bool = False) -> None:
    """Print a line as it is."""
    display.display(text, color=color, stderr=IS_DOCUMENT, screen_only=screen_only)


def show(lines: Iterable[str], color: str | None = None) -> None:
    """Print lines as they are."""
    for line in lines:
        print_line(line, color)


def ask_user(question: str) -> str | None:
    """Return what a user types, nothing where that is Ctrl-C, and None if there is no terminal."""
    try:
        answer: bytes = display.prompt_until(question, complete_input=(b"\r", b"\n"))
    except AnsiblePromptNoninteractive:
        return None
    except AnsiblePromptInterrupt:
        return ""
    return answer.decode(errors="replace").strip()


def print_after_interrupt(text: str) -> None:
    """Print a line in the place of the Ctrl-C that a terminal has echoed."""
    print_line((CLEARED if ON_TERMINAL else "") + text)


def new_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return which of the last lines of a log were not among its last lines before."""
    overlap = next((size for size in range(len(now), 0, -1) if list(before[-size:]) == list(now[:size])), 0)
    return list(now[overlap:])


class ProgressLine:
    """One line that is redrawn on a terminal; elsewhere a plain line now and then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._height = 0
        self._printed_lines: list[str] = []
        self._printed_news = ""
        self._next_plain = self._next_unchanged = 0.0

    def draw(self, text: str, news: str, last: bool, below: Sequence[str] = ()) -> None:
        """Show the text (plain output: if there is news and a line is due, and always the last one).

        Below it are the last lines of a log, of which plain output gets the new ones.
        """
        if ON_TERMINAL:
            rows = [row[:WIDEST] for row in (text, *below)]
            print_line(self._over() + "\n".join(rows), screen_only=True)  # a log file would get every second
            self._height = len(rows)
            return
        now = self._clock()
        news = "\n".join((news, *below))
        if last or (now >= self._next_plain and (news != self._printed_news or now >= self._next_unchanged)):
            self._printed_news = news
            self._next_plain, self._next_unchanged = now + PLAIN_EVERY_S, now + UNCHANGED_EVERY_S
            print_line(text)
            show(new_lines(self._printed_lines, below))
            self._printed_lines = list(below)

    def say(self, text: str) -> None:
        """Print a line; the redrawn one continues below it."""
        print_line(self._over() + text)
        self._height = 0

    def warn(self, text: str) -> None:
        """Print a warning; the redrawn line continues below it."""
        display.warning(text)
        self._height = 0

    def _over(self) -> str:
        if self._height > 1:
            return f"\x1b[{self._height}A\r\x1b[J"
        return f"\x1b[1A{CLEARED}" if self._height else ""
