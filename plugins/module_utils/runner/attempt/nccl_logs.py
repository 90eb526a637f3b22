# SPDX-License-Identifier: GPL-3.0-or-later
"""What the logs that NCCL writes for each process of an attempt show of its fabric, read as they grow.

NCCL empties the file of a process before it writes there, so a file that differs from what was there before the attempt
is one of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import stat
import time
from collections.abc import Sequence
from typing import Any

from ..._records.job import Job, TransportProof
from ..._records.layout import LOGS
from ..._records.nccl_log import RDMA, NcclLog, RankLog
from ..._records.transport import FAIL, UNKNOWN, NodeTransport, TransportFinding
from ..._text.spans import spans
from .. import files, process_tree
from ..optional import optional
from .progress import stamp_of

# What one look reads of all files together, the last one, and all looks of an attempt, in bytes: a block of 1 MiB
# takes 20 ms, and a log that is longer repeats itself.
LOOK_BYTES, LAST_LOOK_BYTES, ATTEMPT_BYTES = 8 << 20, 32 << 20, 256 << 20
BLOCK_BYTES = 1 << 20
# More than a node has ranks with their helpers.
MOST_FILES = 512
# Without a new line for so long, what is connected is taken for all of it.
QUIET_S = 20.0
# A rank may be a child of the program that its launcher started, such as a profiler.
MOST_PARENTS = 8
_PID = re.compile(r"nccl\..*\.(\d{1,10})\.log")


class _LogFile:
    """The log of one process, as far as it was read."""

    def __init__(self, parser: Any) -> None:
        self.parser, self.offset = parser, 0


class NcclLogs:
    """The logs of one attempt on this node; report is what they show, None before the first look."""

    def __init__(self, job: Job, proof: TransportProof, run_dir: str) -> None:
        """Note which logs are there already. Waits for the storage."""
        self.report: NodeTransport | None = None
        self._job, self._proof, self._folder = job, proof, os.path.join(run_dir, LOGS)
        self._earlier = self._stamps()
        self._files: dict[int, _LogFile] = {}  # by PID
        self._parents: dict[int, list[int]] = {}
        self._left = ATTEMPT_BYTES
        self._is_behind = False  # whether the last look left anything to read
        self._changed_at = time.monotonic()
        self._judged: tuple[object, ...] = ()

    @optional("reading NCCL's logs")
    def look(self, pids: Sequence[int] | None, is_last: bool = False) -> None:
        """Read what is new and judge it; pids: of the ranks here, None where they are not known. Waits for storage."""
        if self._proof.missing:
            self.report = _unknown(self._proof.missing)
            return
        if self._read(pids or (), LAST_LOOK_BYTES if is_last else LOOK_BYTES):
            self._changed_at = time.monotonic()
        is_quiet = time.monotonic() - self._changed_at >= QUIET_S
        judged = (self._left, is_quiet, self._is_behind, tuple(pids or ()))
        if judged != self._judged or self.report is None:
            self._judged = judged
            self.report = self._judge(list(pids or []), is_quiet)

    def _stamps(self) -> dict[int, tuple[int, ...]]:
        stamps: dict[int, tuple[int, ...]] = {}
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                match = _PID.fullmatch(entry.name)
                if match:
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            stamps[int(match[1])] = stamp_of(status)
        return stamps

    def _read(self, pids: Sequence[int], limit: int) -> bool:
        """Read so many bytes at most; return whether there were any."""
        limit = min(limit, self._left)
        before = limit
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(self._folder), key=lambda entry: entry.name):
                match = _PID.fullmatch(entry.name)
                if match and self._is_new(entry, int(match[1]), pids):
                    file = self._file(int(match[1]))
                    # To open a file of a shared home every second costs its server more than to ask for its size.
                    if entry.stat(follow_symlinks=False).st_size != file.offset:
                        limit -= self._read_file(entry.path, file, limit)
        self._is_behind = not limit and self._left > before
        self._left -= before - limit
        return limit < before

    def _is_new(self, entry: os.DirEntry[str], pid: int, pids: Sequence[int]) -> bool:
        """Return whether a file is of this attempt; an earlier one may be written anew by a rank with its PID only."""
        if pid in self._files:
            return True
        if pids and pid in self._earlier and pid not in pids:
            return False
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            is_log = stat.S_ISREG(status.st_mode) and self._earlier.get(pid) != stamp_of(status)
            return is_log and len(self._files) < MOST_FILES
        return False

    def _file(self, pid: int) -> _LogFile:
        # Only a run whose fabric is to be proved needs the parser.
        from ..._nccl_log.parse import NcclLogParser

        return self._files.setdefault(pid, _LogFile(NcclLogParser()))

    def _read_file(self, path: str, file: _LogFile, limit: int) -> int:
        """Read what is new in a file, at most so many bytes; return how many those were."""
        count = 0
        with contextlib.suppress(OSError), files.open_regular(path) as log:
            log.seek(file.offset)
            while count < limit and (block := log.read(min(BLOCK_BYTES, limit - count))):
                file.parser.feed(block)
                count += len(block)
        file.offset += count
        return count

    # -- the judgment --------------------------------------------------------------------------------------------------

    def _judge(self, pids: Sequence[int], is_quiet: bool) -> NodeTransport:
        from ..._records.nccl_values import compare
        from ..._records.nccl_verdict import NcclExpectation, NcclFinding, judge

        ranks = self._ranks(pids)
        numbers = list(self._job.ranks) if pids else []
        log = NcclLog(ranks, complete=self._left > 0)
        expected = NcclExpectation(RDMA, self._proof.gdr, self._proof.hcas, numbers)
        verdict = judge(log, expected)
        wanted = FAIL if verdict.verdict == FAIL else "error"
        deciding: NcclFinding | None = next((item for item in verdict.findings if item.status == wanted), None)
        is_connected = any(rank.outside for rank in ranks)
        elsewhere = self._proof.elsewhere
        return NodeTransport(
            verdict=verdict.verdict,
            is_certain=judge(log, expected, is_settled=False).verdict == FAIL,
            is_quiet=is_quiet and is_connected,
            is_behind=self._is_behind,
            networks=verdict.networks,
            gdr=verdict.gdr,
            nics=verdict.nics,
            wanted_nics=_wanted_nics(ranks, self._proof.hcas),
            finding=None if deciding is None else _finding(deciding),
            variables=[]
            if elsewhere is None or not is_connected
            else compare(self._job.environment, elsewhere, self._every_record(pids)),
        ).shortened()

    def _ranks(self, pids: Sequence[int]) -> list[RankLog]:
        """Return what the ranks have logged, without their errors, which are not about what they use."""
        owners = self._owners(pids)
        size = self._job.world_size
        first = [rank for file in owners for rank in file.parser.record().ranks if rank.nranks != 1]
        # In a communicator of all ranks their numbers are those of the run.
        known = all(rank.nranks == size for rank in first)
        inside = [*self._job.ranks] if known else [rank.rank for rank in first if rank.rank is not None]
        records = []
        for file, number in owners.items():
            logged = [rank for rank in file.parser.record(inside).ranks if rank.nranks != 1]
            # What a process logs before it has a GPU is not another rank.
            logged = [rank for rank in logged if rank.nranks is not None] or logged
            records += [
                dataclasses.replace(rank, rank=rank.rank if number is None else number, errors=[], warnings=0)
                for rank in logged
            ]
        return records

    def _every_record(self, pids: Sequence[int]) -> list[RankLog]:
        """Return all that the processes of ranks have logged: what a process reads it may log before it has a GPU."""
        return [rank for file in self._owners(pids) for rank in file.parser.record().ranks]

    def _owners(self, pids: Sequence[int]) -> dict[_LogFile, int | None]:
        """Return the files of ranks with the numbers of these; what else ran here is a helper of a rank."""
        if not pids:
            return dict.fromkeys(self._files.values())
        numbers = {pid: self._job.first_rank + index for index, pid in enumerate(pids)}
        owners: dict[_LogFile, int | None] = {self._files[pid]: numbers[pid] for pid in pids if pid in self._files}
        for pid, file in self._files.items():
            parent = next((parent for parent in self._parents_of(pid) if parent in numbers), None)
            # The process of the rank itself does not use NCCL: it is what the launcher put in front of it.
            if pid not in numbers and parent is not None and parent not in self._files:
                owners[file] = numbers[parent]
        return owners

    def _parents_of(self, pid: int) -> list[int]:
        """Return the processes above one, as they were when it was first looked at."""
        if pid not in self._parents:
            parents: list[int] = []
            process = process_tree.look(pid)
            while process is not None and process.ppid > 1 and len(parents) < MOST_PARENTS:
                parents.append(process.ppid)
                process = process_tree.look(process.ppid)
            self._parents[pid] = parents
        return self._parents[pid]


def _wanted_nics(ranks: Sequence[RankLog], hcas: Sequence[str]) -> int:
    if any(rank.merged_nics for rank in ranks):
        return 0
    return len(hcas) or max((rank.provider_nics or len(rank.hcas) for rank in ranks), default=0)


def _finding(finding: Any) -> TransportFinding:
    numbers = [int(name) for name in finding.ranks if name.isdigit()]
    ranks = spans(numbers) if len(numbers) == finding.count else None
    return TransportFinding(finding.check, ranks, finding.observed, finding.expected, finding.remedy, finding.line)


def _unknown(missing: str) -> NodeTransport:
    finding = TransportFinding("nccl log", None, missing, "NCCL's own log", "leave NCCL_DEBUG… to verify_transport")
    return NodeTransport(UNKNOWN, finding=finding).shortened()
