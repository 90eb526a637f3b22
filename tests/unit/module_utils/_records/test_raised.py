# SPDX-License-Identifier: GPL-3.0-or-later
"""Which exception ended a program: of texts that Python really prints, and of what is printed around them."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import textwrap

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.raised import (
    MOST_LINES,
    TracebackReader,
    read_raised,
)

FOOTER = "import atexit\natexit.register(lambda: print(*('tracker: run 7' for _ in range(90)), sep='\\n'))\n"
PROGRAMS: dict[str, tuple[str, tuple[str, str] | None]] = {
    "a plain one": ("raise KeyError('layer')", ("KeyError", "'layer'")),
    "a name without Error": (
        "class Stop(Exception): pass\nraise Stop('sample 9 is empty')",
        ("Stop", "sample 9 is empty"),
    ),
    "no text": ("class NoShard(Exception): pass\nraise NoShard", ("NoShard", "")),
    "another module's": ("import json\njson.loads('{')", ("json.decoder.JSONDecodeError", "Expecting property name")),
    "a footer at exit": (FOOTER + "raise OSError('disk is gone')", ("OSError", "disk is gone")),
    "one that was handled before": (
        "import traceback\ntry: {}['a']\nexcept KeyError: traceback.print_exc()\nraise ValueError('bad batch')",
        ("ValueError", "bad batch"),
    ),
    "the last of a chain": (
        "try: {}['a']\nexcept KeyError as e: raise LookupError('no config') from e",
        ("LookupError", "no config"),
    ),
    "raised while another was handled": (
        "try: 1 / 0\nexcept ZeroDivisionError: open('/no/such/file')",
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/no/such/file'"),
    ),
    "several lines": (
        "raise RuntimeError('Error(s) in loading state_dict for Net:\\n\\tMissing key(s): \"a\".\\n\\tsize mismatch')",
        ("RuntimeError", 'Error(s) in loading state_dict for Net:\n\tMissing key(s): "a".\n\tsize mismatch'),
    ),
    "several lines and a footer": (
        FOOTER + "raise RuntimeError('CUDA error: out of memory\\nFor debugging consider CUDA_LAUNCH_BLOCKING=1')",
        ("RuntimeError", "CUDA error: out of memory\nFor debugging consider CUDA_LAUNCH_BLOCKING=1"),
    ),
    "an exception at exit": (
        "import atexit\natexit.register(lambda: [][1])\nraise ValueError('first')",
        ("ValueError", "first"),
    ),
    "a destructor's exception": (
        "class A:\n    def __del__(self): raise TypeError('late')\na = A()\nraise ValueError('first')",
        ("ValueError", "first"),
    ),
    "a thread's only": (
        "import threading\nt = threading.Thread(target=lambda: [][1]); t.start(); t.join()",
        ("IndexError", "list index out of range"),
    ),
    "a thread's and the program's": (
        "import threading\nt = threading.Thread(target=lambda: [][1]); t.start(); t.join(); raise ValueError('own')",
        ("ValueError", "own"),
    ),
    "a syntax error": ("exec('a = = 1')", ("SyntaxError", "invalid syntax")),
    "a deep recursion": ("def f(): f()\nf()", ("RecursionError", "maximum recursion depth exceeded")),
    "a pool's worker": (
        "import concurrent.futures, math\nif __name__ == '__main__':\n"
        "    with concurrent.futures.ProcessPoolExecutor(1) as pool: pool.submit(math.sqrt, -1).result()",
        ("ValueError", "math domain error"),
    ),
    "a local class": (
        "def main():\n    class BadConfig(Exception): pass\n    raise BadConfig('no layers')\nmain()",
        ("main.<locals>.BadConfig", "no layers"),
    ),
    "a paragraph after a blank": (
        "raise ValueError('first: \\n\\nsecond paragraph says why')",
        ("ValueError", "first: \n\nsecond paragraph says why"),
    ),
    "lines that begin with a list": (
        "raise ValueError('shapes differ\\n[2, 3] against [4, 5]\\n[batch, width] is expected')",
        ("ValueError", "shapes differ\n[2, 3] against [4, 5]\n[batch, width] is expected"),
    ),
    "no exception at all": ("print('KeyError: is a word'); raise SystemExit(3)", None),
    "lines that speak of exceptions": ("print('  Traceback (most recent call last):\\nretry: ValueError: x')", None),
}


BAD_LOSS = 'Traceback (most recent call last):\n  File "train.py", line 5, in <module>\nValueError: bad loss'


def ranked(prefix: str, text: str) -> list[str]:
    """Return lines as torch prints them with a rank's prefix."""
    return [prefix + line if line else "" for line in text.split("\n")]


def output(program: str, tmp_path: str) -> list[str]:
    path = f"{tmp_path}/program.py"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(textwrap.dedent(program))
    result = subprocess.run(
        [sys.executable, "-u", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return result.stdout.split("\n")


# torch puts the rank and a blank before what Python prints of the exception, except for its empty lines. Its own log
# has the rank without a blank.
ALONE = [name for name, (program, _expected) in PROGRAMS.items() if not re.search("atexit|__del__|thread", program)]


@pytest.mark.parametrize(
    ("name", "prefix"), [*((name, "") for name in PROGRAMS), *((name, "[rank3]: ") for name in ALONE)]
)
def test_programs(name: str, prefix: str, tmp_path: str) -> None:
    program, expected = PROGRAMS[name]
    lines = output(program, tmp_path)
    if prefix:
        begin = next((number for number, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
        lines = lines[:begin] + ranked(prefix, "\n".join(lines[begin:]))
    raised = read_raised(lines)
    if expected is None:
        assert raised is None
        return
    assert raised is not None
    exception, message = expected
    assert raised.exception.rpartition(".")[2] == exception.rpartition(".")[2]
    assert raised.message.startswith(message)
    assert raised.message.count("\n") == message.count("\n")


SPAWN = """Traceback (most recent call last):
  File "launch.py", line 9, in <module>
    mp.spawn(main, nprocs=2)
torch.multiprocessing.spawn.ProcessRaisedException:{blank}

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "spawn.py", line 90, in _wrap
    fn(i, *args)
ValueError: shard 4 has no label
""".replace("{blank}", " ")
LOADER = """Traceback (most recent call last):
  File "train.py", line 4, in <module>
    next(batches)
OSError: Caught OSError in DataLoader worker process 2.
Original Traceback (most recent call last):
  File "worker.py", line 7, in _worker_loop
    data = fetcher.fetch(index)
OSError: image file is truncated (3 bytes not processed)

"""
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "t.py", line 1, in <module>
  |     raise ExceptionGroup("two tasks", [ValueError("a"), TypeError("b")])
  | ExceptionGroup: two tasks (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | TypeError: b
    +------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "exception", "message"),
    [
        pytest.param(SPAWN, "ValueError", "shard 4 has no label", id="mp.spawn"),
        pytest.param(LOADER, "OSError", "image file is truncated (3 bytes not processed)", id="a data loader"),
        pytest.param(GROUP, "ExceptionGroup", "two tasks (2 sub-exceptions)", id="a group"),
        pytest.param(
            'ray.exceptions.X: no\nTraceback (most recent call last):\n  File "a"\n'
            "ray.exceptions.RayTaskError(ValueError): ray::f()\n",
            "ray.exceptions.RayTaskError(ValueError)",
            "ray::f()",
            id="ray",
        ),
    ],
)
def test_exceptions_that_pass_on_another(text: str, exception: str, message: str) -> None:
    raised = read_raised(text.split("\n"))
    assert raised is not None
    assert (raised.exception, raised.message.split("\n")[0]) == (exception, message)


def test_why_it_was_raised(tmp_path: str) -> None:
    program = "try: {}['a']\nexcept KeyError as e: raise LookupError('no config') from e"
    raised = read_raised(output(program, tmp_path))
    assert raised is not None
    assert raised.because == "caused by KeyError: 'a'"
    assert sum(line.startswith("Traceback") for line in raised.traceback) == 2


STORE = (
    '[rank3]:[W1120 14:31:02.123456789 ProcessGroupNCCL.cpp:1681] Failed to check the "should dump" flag on TCPStore, '
    "with error: failed to recv, got 0 bytes"
)


@pytest.mark.parametrize(
    "line",
    [
        "[rank0]: a line of another rank",
        "[W1120 14:31:02.123456789 socket.cpp:200] a warning",
        "[2026-11-20 14:31:02,123][INFO] a step",
        "[14:31:02] a step",
        "[INFO] a step",
        "[trainer] a step",
        "[0]: a step",
        "[n1:00042] *** Process received signal ***",
    ],
)
def test_lines_with_a_tag_are_no_message(line: str) -> None:
    raised = read_raised([*BAD_LOSS.split("\n"), line])
    assert raised is not None
    assert raised.message == "bad loss"


@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
@pytest.mark.parametrize("line", [STORE, "[rank3]:W1120 14:31:02.123456789 0 c10d: watchdog caught a timeout"])
def test_logs_of_torch_are_no_message(prefix: str, line: str) -> None:
    raised = read_raised([*ranked(prefix, BAD_LOSS), line])
    assert raised is not None
    assert (raised.message, raised.is_uncaught) == ("bad loss", bool(prefix))


def test_empty_lines_have_no_rank() -> None:
    raised = read_raised(ranked("[rank3]: ", "\n".join([BAD_LOSS, "", "the second paragraph"])))
    assert raised is not None
    assert raised.message == "bad loss\n\nthe second paragraph"


def test_memory_is_bounded() -> None:
    reader = TracebackReader()
    reader.feed("Traceback (most recent call last):")
    for number in range(100000):
        reader.feed(f'  File "x.py", line {number}')
    reader.feed("ValueError: " + "x" * 100000)
    for _line in range(10000):
        reader.feed("  more")
    raised = reader.raised
    assert raised is not None
    assert len(raised.traceback) <= MOST_LINES
    assert len(raised.message) < 70000


def test_any_text_is_read() -> None:
    chance = random.Random(42)
    parts = [*SPAWN.split("\n"), *GROUP.split("\n"), "[rank0]: ", "x", "", "\0", "a: b", "Exception ignored in: <f>"]
    for _round in range(300):
        read_raised(chance.choices(parts, k=40))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["[rank3]: " + BAD_LOSS, "[rank3]: going on"], id="only the first line has it"),
        pytest.param([*ranked("[rank3]: ", BAD_LOSS)[:2], "a thread's", "[rank3]: ValueError: bad loss"], id="a gap"),
    ],
)
def test_a_rank_that_torch_may_not_have_printed(lines: list[str]) -> None:
    raised = read_raised("\n".join(lines).split("\n"))
    assert raised is not None
    assert (raised.exception, raised.message, raised.is_uncaught) == ("ValueError", "bad loss", False)


@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
def test_the_time_is_that_of_its_last_line(prefix: str) -> None:
    reader = TracebackReader()
    for line in [*ranked(prefix, BAD_LOSS), prefix + "  its second line"]:
        reader.feed(line, 100.0)
    for number in range(200):
        reader.feed(f"uploader: {number} files left", 101.0 + number)
    raised = reader.raised
    assert raised is not None
    assert (raised.message.count("\n"), raised.time) == (1, 100.0)
