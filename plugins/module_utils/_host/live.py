# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the seam besides files and commands: resolver, network, clock, a test write."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from typing import Callable, NamedTuple

from .host import Host
from .netlink import read_ipv4_interfaces

# connect() of that many at once: below the 1024 files that a process may have open.
AT_ONCE = 256
# What adjtimex(2) returns where the clock is not synchronized (TIME_ERROR), and room for any struct timex.
TIME_ERROR, TIMEX_SIZE = 5, 512
BLOCK = bytes(4096)
# What open(2) with O_TMPFILE says where the file system, or the kernel, has no files without names.
NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOSYS)


class LookedUp(NamedTuple):
    """The addresses of a name in the resolver's order; error says why there is none."""

    addresses: list[str]
    error: str | None = None


class LiveSystem:
    """The resolver, network and clock of the machine that this process runs on; a test replaces it."""

    def now(self) -> float:
        """Return the clock in seconds since the epoch."""
        return time.time()

    def clock_synchronized(self) -> bool | None:
        """Return whether the kernel's clock is marked as synchronized (adjtimex(2), which needs no privilege)."""
        import ctypes

        buffer = ctypes.create_string_buffer(TIMEX_SIZE)
        try:
            state = ctypes.CDLL(None).adjtimex(buffer)
        except (AttributeError, OSError):
            return None
        return None if state < 0 else bool(state != TIME_ERROR)

    def look_up(self, name: str) -> LookedUp:
        """Return the resolver's answer for a name. It may take as long as the resolver's own timeouts."""
        import socket

        try:
            entries = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # ValueError: no name for IDNA
            return LookedUp([], getattr(error, "strerror", None) or str(error))
        return LookedUp(list(dict.fromkeys(str(address[0]) for *_kind, address in entries)))

    def look_up_name(self, address: str) -> str | None:
        """Return the resolver's name of an address, None without one; it may take as long as a name does."""
        import socket

        try:
            return socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        except (OSError, ValueError):
            return None

    def connect(self, targets: Iterable[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
        """Return the errno of a TCP connection to each address and port, 0 where it was made, all within timeout s.

        EINVAL is for anything but an IPv4 or IPv6 address: no name is resolved. Nothing is sent.
        """
        unique = list(dict.fromkeys(targets))
        deadline = time.monotonic() + timeout
        results: dict[tuple[str, int], int] = {}
        for start in range(0, len(unique), AT_ONCE):
            results.update(_connect_some(unique[start : start + AT_ONCE], deadline))
        return results

    def try_write(self, folder: str, named: bool = True) -> int | None:
        """Write a block to a new file there, wait until it is on disk; return the errno, or 0.

        The file has no name and is never visible. Where the file system has no such files, it gets a name and is
        removed, or, if it may not be named, None is returned.
        """
        state = _write(folder, os.O_TMPFILE)
        if state not in NO_TMPFILE:
            return state
        return _write_and_remove(_hidden_name(folder)) if named else None

    def try_lock(self, folder: str, named: bool = True) -> int | None:
        """Lock a new empty file there with flock(2); return the errno, or 0. The file is as that of try_write."""
        import fcntl

        lock = fcntl.LOCK_EX | fcntl.LOCK_NB
        for path, flags in ((folder, os.O_TMPFILE), (_hidden_name(folder), os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)):
            try:
                file = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
            except OSError as error:
                if error.errno not in NO_TMPFILE or not named:
                    return None
                continue
            try:
                fcntl.flock(file, lock)
            except OSError as error:
                return error.errno
            finally:
                os.close(file)
                if path != folder:
                    os.unlink(path)
            return 0
        return None


def _hidden_name(folder: str) -> str:
    return f"{folder}/.muster-{os.getpid()}-{os.urandom(4).hex()}"


class LiveHost(Host):
    """A machine with its live system, which only node_facts asks: other modules need not ship this file."""

    @property
    def live(self) -> LiveSystem | None:
        """Return the resolver, network and clock of this machine, None below another root."""
        return LiveSystem() if self.is_live else None

    def environment(self) -> dict[str, str]:
        """Return the variables of this process, none below another root."""
        return dict(os.environ) if self.is_live else {}

    def ipv4_interfaces(self) -> dict[str, str] | None:
        """Return the interface of each IPv4 address as the kernel knows it, None below another root."""
        return read_ipv4_interfaces() if self.is_live else None


def _connect_some(targets: list[tuple[str, int]], deadline: float) -> dict[tuple[str, int], int]:
    import selectors
    import socket

    results: dict[tuple[str, int], int] = {}
    links: list[socket.socket] = []
    with selectors.DefaultSelector() as selector:
        for target in targets:
            family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
            try:
                socket.inet_pton(family, target[0].partition("%")[0])
                links.append(socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
                state = links[-1].connect_ex(target)
            except (OSError, OverflowError, ValueError) as error:
                state = getattr(error, "errno", None) or errno.EINVAL
            if state == errno.EINPROGRESS:
                selector.register(links[-1], selectors.EVENT_WRITE, (links[-1], target))
            else:
                results[target] = state
        while selector.get_map() and time.monotonic() < deadline:
            for key, _events in selector.select(max(0.0, deadline - time.monotonic())):
                link, target = key.data
                selector.unregister(link)
                results[target] = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    for link in links:
        link.close()
    return {target: results.get(target, errno.ETIMEDOUT) for target in targets}


def _write_and_remove(path: str) -> int:
    return _write(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, lambda: os.unlink(path))


def _write(path: str, flags: int, *after: Callable[[], object]) -> int:
    """Write a block to a new file, wait until it is on disk; return the first errno, 0 if there was none."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    except (OSError, ValueError) as error:
        return getattr(error, "errno", None) or errno.EINVAL
    first = 0
    # A quota or a full file server may show with any of them; each is tried whatever came of the others.
    for step in (lambda: os.write(file, BLOCK), lambda: os.fsync(file), lambda: os.close(file), *after):
        try:
            step()
        except OSError as error:
            first = first or error.errno or errno.EIO
    return first
