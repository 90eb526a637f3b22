# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program may leave where its run's files are read; a program of its own, so that a run can make it.

usage: hostile_files.py KIND=PATH...    make such a thing at each path below the outputs, and stay for two looks at them
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable

DEPTH = 1200  # above Python's limit of recursion


def make_deep(path: str) -> None:
    os.mkdir(path)
    place = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for _level in range(DEPTH):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = below
    with open(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=place), "w") as stream:
        stream.write("deep")
    os.close(place)


def make_huge(path: str) -> None:
    with open(path, "wb") as stream:
        stream.truncate(1 << 40)


def make_socket(path: str) -> None:
    place = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{place}/{os.path.basename(path)}")  # the path itself may be too long for one
    os.close(place)


def make_link_to_fifo(path: str) -> None:
    os.mkfifo(f"{path}.fifo")
    os.symlink(f"{path}.fifo", path)


def make_file(data: bytes) -> Callable[[str], None]:
    def make(path: str) -> None:
        with open(path, "wb") as stream:
            stream.write(data)

    return make


def make_odd_names(path: str) -> None:
    os.mkdir(path)
    for name in (b"line\nbreak", b"caf\xe9", b"-rf", b"\x1b[31mred", b"{{ canary }}"):
        make_file(b"odd")(os.path.join(path, os.fsdecode(name)))


KINDS: dict[str, Callable[[str], None]] = {
    "empty": make_file(b""),
    "ones": make_file(b"\xff" * 64),
    "zeros": make_file(b"\0" * 4096),
    "nested": make_file(b"[" * 100_000 + b"\n"),
    "numbers": make_file(b'{"step": 1e308, "loss": NaN, "total_steps": -1e999}\n'),
    "digits": make_file(b'{"step": ' + b"9" * 5000 + b"}\n"),
    "binary": make_file(bytes(range(256)) * 64),
    "huge": make_huge,
    "deep": make_deep,
    "fifo": os.mkfifo,
    "socket": make_socket,
    "link": make_link_to_fifo,
    "loop": lambda path: os.symlink(os.path.basename(path), path),
    "names": make_odd_names,
}


def main(*arguments: str) -> None:
    for argument in arguments:
        kind, _sign, path = argument.partition("=")
        KINDS[kind](os.path.join(os.environ["MUSTER_OUTPUT_DIR"], path))
    time.sleep(2)


if __name__ == "__main__":
    main(*sys.argv[1:])
