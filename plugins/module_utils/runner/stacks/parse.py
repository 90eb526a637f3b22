# SPDX-License-Identifier: GPL-3.0-or-later
"""What faulthandler and py-spy write of the threads of a process, the main thread first."""

from __future__ import annotations

import dataclasses
import re

from ..._records.document import as_integer, as_text
from ..._records.known import as_dict, parse_json
from ..._records.layout import SITE
from ..._records.stacks import MOST_FRAMES, MOST_THREADS, StackFrame, ThreadStack

# The function of sitecustomize.py in which its thread waits.
ANSWERS = "_answer"
# faulthandler.c, write_thread_id and dump_frame; the name of a thread since Python 3.14.
_THREAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-f]+(?: \[(.*)\])? \(most recent call first\):")
_FRAME = re.compile(r'  File (?:"(.*)"|(\?\?\?)), line ([0-9]{1,9}|\?\?\?) in (.*)')


def parse_faulthandler(text: str) -> list[ThreadStack]:
    """Read what `faulthandler.register` has written; the interpreter lists its oldest thread, the main one, last."""
    threads: list[ThreadStack] = []
    for line in text.split("\n"):
        if match := _THREAD.fullmatch(line):
            threads.append(ThreadStack(name=match[1] or None))
        elif threads and (match := _FRAME.fullmatch(line)):
            number = int(match[3]) if match[3].isascii() and match[3].isdigit() else None
            threads[-1].frames.append(StackFrame(match[4], match[1], number))
    threads.reverse()
    return _of_program([dataclasses.replace(thread, main=number == 0) for number, thread in enumerate(threads)])


def parse_py_spy(text: str) -> list[ThreadStack]:
    """Read what `py-spy dump --json` prints."""
    threads = []
    document = parse_json(text)
    for item in document[:MOST_THREADS] if isinstance(document, list) else []:
        thread = as_dict(item)
        pid = as_integer(thread.get("pid"))
        frames = thread.get("frames")
        threads.append(
            ThreadStack(
                name=as_text(thread.get("thread_name")),
                main=pid is not None and pid == as_integer(thread.get("os_thread_id")),
                frames=[_frame(as_dict(frame)) for frame in frames[:MOST_FRAMES]] if isinstance(frames, list) else [],
            )
        )
    return _of_program(sorted(threads, key=lambda thread: not thread.main))


def _of_program(threads: list[ThreadStack]) -> list[ThreadStack]:
    """Return the threads without the one in which `sitecustomize.py` waits for questions."""
    return [thread for thread in threads if thread.inner is None or not _is_own(thread.inner)]


def _is_own(frame: StackFrame) -> bool:
    return frame.function == ANSWERS and (frame.file or "").endswith(f"{SITE}/sitecustomize.py")


def _frame(frame: dict[str, object]) -> StackFrame:
    return StackFrame(as_text(frame.get("name")), as_text(frame.get("filename")), as_integer(frame.get("line")))
