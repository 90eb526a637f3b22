# SPDX-License-Identifier: GPL-3.0-or-later
"""What faulthandler and py-spy write."""

from __future__ import annotations

import json

from ansible_collections.muster.train.plugins.module_utils._records.stacks import StackFrame, ThreadStack
from ansible_collections.muster.train.plugins.module_utils.runner.stacks.parse import parse_faulthandler, parse_py_spy

FAULTHANDLER = """\
Thread 0x00007f2b1c7ff640 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Thread 0x00007f2b1d000640 [feeder] (most recent call first):
  <no Python frame>

Current thread 0x00007f2b20a4a740 (most recent call first):
  File "/code/data.py", line 10 in __getitem__
  File "/code/a \"b\", line 3 in x", line 41 in <module>
  File ???, line ??? in ???
  ...
"""


def test_the_main_thread_comes_first() -> None:
    threads = parse_faulthandler(FAULTHANDLER)
    assert threads[0] == ThreadStack(
        main=True,
        frames=[
            StackFrame("__getitem__", "/code/data.py", 10),
            StackFrame("<module>", '/code/a "b", line 3 in x', 41),
            StackFrame("???", None, None),
        ],
    )
    assert threads[1] == ThreadStack("feeder")
    assert [frame.function for frame in threads[2].frames] == ["run", "_bootstrap"]
    assert [thread.main for thread in threads] == [True, False, False]


def test_py_spy_names_the_main_thread_by_its_id() -> None:
    frame = {"name": "step", "filename": "/code/train.py", "module": None, "short_filename": "train.py", "line": 41}
    document = [
        {"pid": 7, "thread_id": 1, "thread_name": "feeder", "os_thread_id": 9, "active": False, "frames": []},
        {"pid": 7, "thread_id": 2, "thread_name": "MainThread", "os_thread_id": 7, "active": True, "frames": [frame]},
    ]
    assert parse_py_spy(json.dumps(document)) == [
        ThreadStack("MainThread", main=True, frames=[StackFrame("step", "/code/train.py", 41)]),
        ThreadStack("feeder"),
    ]


def test_other_text_has_no_threads() -> None:
    assert parse_faulthandler('Fatal Python error: Segmentation fault\n  File "x", line 1 in y\n') == []
    for text in ("", "{}", "[1]", '[{"frames": 3}]'):
        assert not any(thread.frames for thread in parse_py_spy(text))
