# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver, the network and the clock, as they are here."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import live
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveSystem
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder


def test_only_the_whole_machine_is_our_own(tmp_path: Path) -> None:
    assert Host().is_live
    assert not Host(str(tmp_path)).is_live


def test_clock() -> None:
    before = time.time()
    assert before <= LiveSystem().now() <= time.time()
    assert LiveSystem().clock_synchronized() in (True, False, None)


def test_names() -> None:
    assert set(LiveSystem().look_up("localhost").addresses) & {"127.0.0.1", "::1"}
    for name in ("no.such.name.invalid", "a" * 300, "a..b", "\0", ""):
        result = LiveSystem().look_up(name)
        assert result.addresses == [] or name == ""
        assert result.error or result.addresses


def test_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_one, socket.socket() as closed_one:
        closed_one.bind(("127.0.0.1", 0))  # no other process takes it or listens on it
        present, gone = open_one.getsockname()[1], closed_one.getsockname()[1]
        targets = [("127.0.0.1", present), ("127.0.0.1", gone), ("no address", 1), ("1.2.3", 1), ("127.0.0.1", 70000)]
        assert LiveSystem().connect([*targets, targets[0]], 5.0) == {
            targets[0]: 0,
            targets[1]: errno.ECONNREFUSED,
            targets[2]: errno.EINVAL,
            targets[3]: errno.EINVAL,
            targets[4]: errno.EINVAL,
        }


def test_more_connections_than_open_files_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        port = server.getsockname()[1]
        targets = [(f"127.0.{high}.{low}", port) for high in range(3) for low in range(1, 200)]
        result = LiveSystem().connect(targets, 30.0)
    assert len(result) == len(targets) > 2 * live.AT_ONCE
    assert result["127.0.0.1", port] == 0
    assert set(result.values()) <= {0, errno.ECONNREFUSED}


def test_who_does_not_answer_in_time_is_late() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        target = ("127.0.0.1", full.getsockname()[1])
        # One more than the queue holds is not answered: the kernel drops its SYN.
        held = [socket.create_connection(target, 5.0) for _one in range(1)]
        states = {LiveSystem().connect([target], 0.3)[target] for _try in range(3)}
        for item in held:
            item.close()
    assert states <= {0, errno.ETIMEDOUT}
    assert LiveSystem().connect([target], 0.0)[target] in (errno.ECONNREFUSED, errno.ETIMEDOUT)


def test_writing_leaves_nothing(tmp_path: Path) -> None:
    assert LiveSystem().try_write(str(tmp_path)) == 0
    assert list(tmp_path.iterdir()) == []
    assert LiveSystem().try_write(str(tmp_path / "none")) == errno.ENOENT
    assert LiveSystem().try_write("/proc") in (errno.EACCES, errno.ENOENT, errno.EPERM, errno.EROFS)
    assert LiveSystem().try_write("/dev/full") == errno.ENOTDIR
    assert LiveSystem().try_write("\0") == errno.EINVAL


def test_what_is_written_shows_nowhere_and_a_name_only_where_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visible: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", lambda _file: visible.append(os.listdir(tmp_path)))
    state = LiveSystem().try_write(str(tmp_path), named=False)
    # None: a file system without files that have no name.
    assert (state, visible) in ((0, [[]]), (None, []))
    really = os.open

    def named_only(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not here")
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", named_only)
    assert LiveSystem().try_write(str(tmp_path), named=False) is None
    assert LiveSystem().try_write(str(tmp_path)) == 0
    assert visible[-1][0].startswith(".muster-")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_lock_is_tried_on_a_file_that_does_not_stay(
    unnamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not unnamed:
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)  # EISDIR, as old kernels say
        assert LiveSystem().try_lock(str(tmp_path), named=False) is None
    assert LiveSystem().try_lock(str(tmp_path)) == 0
    monkeypatch.setattr(fcntl, "flock", MagicMock(side_effect=OSError(errno.ENOSYS, "Function not implemented")))
    assert LiveSystem().try_lock(str(tmp_path)) == errno.ENOSYS
    assert LiveSystem().try_lock(str(tmp_path / "none")) is None
    assert list(tmp_path.iterdir()) == []


@needs_root
def test_what_is_not_ours_cannot_be_written() -> None:
    with open_folder() as folder:
        assert as_nobody(lambda: LiveSystem().try_write(str(folder))) == errno.EACCES
