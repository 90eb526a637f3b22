# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a node: which are read, and how much of each."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._nccl_log import read
from ansible_collections.muster.train.plugins.module_utils._nccl_log.read import read_nccl_log
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog
from ansible_collections.muster.train.tests.support.nccl_logs import GDR, choice, edges

ALL = 1 << 30


def save(path: Path, *parts: list[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for part in parts for line in part), encoding="utf-8")
    return str(path)


def read_paths(*paths: Path, most: int = ALL, ranks: list[int] | None = None) -> tuple[NcclLog, list[str]]:
    warnings: list[str] = []
    return read_nccl_log(Host(), list(map(str, paths)), most, ranks, warnings.append), warnings


def test_a_directory_stands_for_its_files_and_for_its_logs(tmp_path: Path) -> None:
    save(tmp_path / "nccl.n0.100", choice(0), edges(0, GDR))
    save(tmp_path / "logs" / "rank_1.log", choice(1), edges(1, GDR))
    save(tmp_path / "outputs" / "x", choice(7))
    os.mkfifo(tmp_path / "pipe")
    log, warnings = read_paths(tmp_path)
    assert ([rank.rank for rank in log.ranks], log.files, log.complete, warnings) == ([0, 1], 2, True, [])


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    path = Path(save(tmp_path / "a", edges(0, GDR)))
    assert read_paths(path, tmp_path)[0].ranks[0].net[0].count == 2


def test_what_is_no_file_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    log, warnings = read_paths(tmp_path / "gone", tmp_path / "pipe")
    assert (log.ranks, log.unread, len(warnings)) == ([], 2, 2)


def test_what_cannot_be_read_counts_beside_what_can(tmp_path: Path) -> None:
    good = Path(save(tmp_path / "logs" / "good", choice(0), edges(0, GDR)))
    (tmp_path / "logs" / "gone").symlink_to("nowhere")
    assert [read_paths(path)[0].unread for path in (good, good.parent, tmp_path)] == [0, 1, 1]


def test_files_and_directories_without_permission() -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = Path(save(folder / "good", choice(0), edges(0, GDR)))
        locked = Path(save(folder / "locked", choice(1)))
        closed = Path(save(folder / "closed" / "a", choice(1))).parent
        folder.chmod(0o755)
        for path in (locked, closed):
            path.chmod(0)
        try:
            if user == 0:
                os.seteuid(65534)  # root may read all
            unread = [read_paths(*paths)[0].unread for paths in ((good,), (good, locked), (good, closed), (folder,))]
        finally:
            os.seteuid(user)
            closed.chmod(0o700)
    assert unread == [0, 1, 1, 1]


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_of_a_large_file_the_beginning_and_the_end_are_read(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "BLOCK", block)
    noise = [f"step {number} loss 1.0" for number in range(2000)]
    error = "n0:100:1 [0] x.cc:1 NCCL WARN Call to ibv_create_qp failed with 12 Cannot allocate memory"
    path = Path(save(tmp_path / "large", choice(0), edges(0, GDR), noise, choice(5), noise, [error]))
    small = Path(save(tmp_path / "small", choice(1), edges(1, GDR)))
    log, warnings = read_paths(path, small, most=4000)
    assert [rank.rank for rank in log.ranks] == [0, 1]
    assert (log.complete, log.bytes_read, log.ranks[0].errors[0].errno, warnings) == (False, 4000, 12, [])


def test_nothing_may_be_read(tmp_path: Path) -> None:
    log, _warnings = read_paths(Path(save(tmp_path / "a", choice(0))), most=0)
    assert (log.ranks, log.bytes_read, log.complete) == ([], 0, False)


def test_the_ranks_of_the_node_are_given(tmp_path: Path) -> None:
    path = Path(save(tmp_path / "a", choice(0), edges(0, GDR)))
    assert [read_paths(path, ranks=ranks)[0].ranks[0].net[0].outside for ranks in (None, [0, 1], [0, 2])] == [
        True,
        True,
        False,
    ]
