# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes the kernel counts of real sockets, and bytes that it never sends."""

from __future__ import annotations

import os
import random
import socket
import struct

from ansible_collections.muster.train.plugins.module_utils.runner.hang import sockets

SIZE = 30_000


def test_the_bytes_of_both_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as sender:
        receiver, _address = listener.accept()
        with receiver:
            ends = [os.fstat(end.fileno()).st_ino for end in (sender, receiver)]
            before = sockets.bytes_by_inode()
            sender.sendall(bytes(SIZE))
            receiver.recv(SIZE, socket.MSG_WAITALL)
            after = sockets.bytes_by_inode()
    assert [after[inode] - before[inode] >= SIZE for inode in ends] == [True, True]


def test_any_bytes_are_no_exception() -> None:
    numbers = random.Random(7)
    for length in (0, 15, 16, 88, 92, 300, 4096):
        for size in (length, 1 << 20, 0):
            for attribute in (0, 2, 4, 140, 65535):
                head = struct.pack("=IHHII", size, sockets.SOCK_DIAG_BY_FAMILY, 0, 1, 0) + bytes(72)
                data = head + struct.pack("=HH", attribute, sockets.INET_DIAG_INFO) + numbers.randbytes(length)
                sizes: dict[int, int] = {}
                sockets.parse(data[: max(length, 16)], sizes)
                assert set(sizes) <= {0}
