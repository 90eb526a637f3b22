# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command for which flock(2) fails with ENOSYS, as on Lustre without -o flock: a seccomp filter makes it so."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

# linux/prctl.h, linux/seccomp.h, linux/bpf_common.h
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBERS = {"x86_64": 73, "aarch64": 32}


def missing() -> str | None:
    """Return why there can be no such filter here."""
    if platform.machine() not in NUMBERS:
        return f"the number of flock(2) on {platform.machine()} is not known here"
    with open("/proc/self/status") as stream:
        return None if "Seccomp:" in stream.read() else "the kernel has no seccomp filters"


def command() -> list[str]:
    """Return the words that come before a command."""
    return [sys.executable, __file__]


def _install() -> None:
    program = [
        (LOAD_WORD, 0, 0, 0),  # the system call's number
        (JUMP_IF_EQUAL, 0, 1, NUMBERS[platform.machine()]),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filters = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(filters))):
        if libc.prctl(arguments[0], *map(ctypes.c_ulong, arguments[1:]), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    _install()
    os.execvp(sys.argv[1], sys.argv[1:])
