# SPDX-License-Identifier: GPL-3.0-or-later
"""Look twice at the ranks here, in a thread of the runner, and save the second look if the head says so."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..._records.document import as_integer, as_text
from ..._records.hang import ENDED, NodeLook, RankPosition
from ..._records.job import Job
from ..._records.layout import HANGS, HEARTBEAT
from ..._records.run import Heartbeat
from .. import files, process_tree
from ..optional import optional
from ..process import Process
from ..stacks import take
from .position import RankLook, positions_of
from .usage import usages_of

# Between the two looks: longer than a step of what is only slow, as far as its stack and its counters tell.
APART_S = 3.0
# What the GPUs do, as their vendors' tools print it.
GPU_TOOLS = (["nvidia-smi"], ["amd-smi", "monitor"], ["rocm-smi"])
GPU_TOOL_S = 10.0
# The head says when, as it is the name of a directory here.
SAFE_NAME = re.compile(r"[0-9A-Za-z]{1,40}")


class Looker:
    """The looks of one attempt on this node, one after the other; is_kept: the time limit does not end it any more."""

    def __init__(self, job: Job, run_dir: str, python: str) -> None:
        """python: the program of the attempt, beside which py-spy may be."""
        self.is_kept = False
        self._job, self._run_dir, self._python = job, run_dir, python
        self._thread: threading.Thread | None = None
        self._answer: NodeLook | None = None
        self._texts: dict[str, str] = {}  # of the last look, by file
        self._saved = ""

    def follow(self, order: Mapping[str, Any]) -> None:
        """Begin with a look, or save the last one in a directory with a name; without one, the run moves again."""
        name = as_text(order.get("name")) or ""
        if order["type"] == "look":
            self._start(lambda: self._look(as_integer(order.get("number"))))
            return
        self.is_kept = order.get("keep") is True
        if SAFE_NAME.fullmatch(name):
            self._start(lambda: self._save(name))

    def _start(self, work: Callable[[], None]) -> None:
        """Do something in a thread, unless it is still busy."""
        if not (self._thread and self._thread.is_alive()):
            # A daemon: what hangs in the kernel or on its storage must not keep the runner from ending.
            self._thread = threading.Thread(target=work, name="look", daemon=True)
            with contextlib.suppress(RuntimeError):  # this user may start no more threads
                self._thread.start()

    def take_answer(self) -> NodeLook | None:
        """Return what a look has shown, once."""
        answer, self._answer = self._answer, None
        return answer

    @optional("looking at the ranks")
    def _look(self, number: int | None) -> None:
        pairs = take.find_ranks(self._job.run_id, self._run_dir)
        ranks = {rank: process for rank, process in pairs if rank is not None}
        before = self._read(ranks)
        # The looks themselves write, in the ranks: what those have used counts from after the first to the second.
        began = time.monotonic()
        before = self._measure(before, ranks)
        time.sleep(APART_S)
        seconds = time.monotonic() - began
        measured = self._measure(before, ranks)
        after = [
            dataclasses.replace(look, usage=last.usage, state=last.state)
            for look, last in zip(self._read(ranks), measured)
        ]
        positions = positions_of(before, after, seconds)
        ended = self._ended(ranks)
        positions += [RankPosition(ended, activity=ENDED)] if ended else []
        unread = {*self._job.ranks, *ranks} - {*ended, *(look.rank for look in after if look.is_readable)}
        self._texts = self._texts_of(after)
        self._answer = NodeLook(positions, sorted(unread), number)

    def _read(self, ranks: Mapping[int, Process]) -> list[RankLook]:
        # Healthy ranks as well: by no signal.
        pairs = take.look(sorted(ranks.items()), self._python, may_signal=False)
        return [RankLook(rank, stacks, trace) for rank, (stacks, trace) in zip(sorted(ranks), pairs)]

    def _measure(self, looks: Sequence[RankLook], ranks: Mapping[int, Process]) -> list[RankLook]:
        """Return the looks with what the ranks have used so far, and their states."""
        usages = usages_of(ranks, process_tree.processes_of(self._job.run_id, self._run_dir))
        now = {rank: process_tree.look(process.pid) for rank, process in ranks.items()}
        states = {rank: None if process is None else process.state for rank, process in now.items()}
        return [dataclasses.replace(look, usage=usages[look.rank], state=states[look.rank]) for look in looks]

    def _ended(self, ranks: Mapping[int, Process]) -> list[int]:
        """Return the ranks that the launcher had started here and whose processes have ended."""
        beat = Heartbeat.from_dict(files.read_json(os.path.join(self._run_dir, HEARTBEAT)))
        pids = zip(self._job.ranks, beat.pids or [])
        return [rank for rank, pid in pids if rank not in ranks and process_tree.look(pid) is None]

    def _texts_of(self, looks: Sequence[RankLook]) -> dict[str, str]:
        """Return the files of each rank: its stacks, and its recording if there is one."""
        texts = {}
        for look in looks:
            head = f"rank {look.rank} (PID {look.stacks.pid}) on {self._job.node}, by {look.stacks.source or '-'}"
            why = [look.stacks.why] if look.stacks.why else []
            texts[f"rank_{look.rank:02d}.txt"] = "".join(f"{line}\n" for line in (head, *why, *look.stacks.lines))
            if look.trace:
                texts[f"rank_{look.rank:02d}_collectives.json"] = look.trace
        return texts

    @optional("saving a look at the ranks")
    def _save(self, name: str) -> None:
        """Save the last look where `collect` finds it, in place of an earlier one, and then what the GPUs do.

        Their tools may hang with them.
        """
        folder = os.path.join(self._run_dir, HANGS, name)
        if self._saved:
            files.remove_tree(os.path.join(self._run_dir, HANGS, self._saved))
        self._saved = name
        with contextlib.suppress(OSError):  # a full disk costs the files only
            for path in (os.path.dirname(folder), folder):
                files.make_dir(path)
            for file, text in itertools.chain(self._texts.items(), _gpu_texts()):
                files.write_atomic(os.path.join(folder, file), text.encode("utf-8", "replace"), durable=False)


def _gpu_texts() -> Iterator[tuple[str, str]]:
    """Yield the names of files and what the vendors' tools that are installed here print of the GPUs."""
    for argv in GPU_TOOLS:
        if not shutil.which(argv[0]):
            continue
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=GPU_TOOL_S, check=False)
            yield f"{argv[0]}.txt", done.stdout.decode("utf-8", "replace")
