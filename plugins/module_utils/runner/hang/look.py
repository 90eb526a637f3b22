# SPDX-License-Identifier: GPL-3.0-or-later
"""Look twice at the ranks here, in a thread of the runner, and save the second look if the run hangs."""

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

from ..._records.document import as_integer
from ..._records.hang import NodeLook
from ..._records.job import Job
from ..._records.layout import HANGS
from .. import files
from ..process import Process
from ..stacks import take
from .position import RankLook, has_moved, positions_of
from .usage import usage_of

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

    def follow(self, order: Mapping[str, Any]) -> None:
        """Begin with a look, or take it that the run hangs: save the last look in a directory with this name.

        Without a name, it hangs no more.
        """
        name = str(order.get("name"))
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

    def _look(self, number: int | None) -> None:
        ranks = {
            rank: process for rank, process in take.find_ranks(self._job.run_id, self._run_dir) if rank is not None
        }
        before = self._read(ranks)
        began = time.monotonic()
        # The looks themselves write, in the ranks: what those have used counts from after the first to the second.
        before = [dataclasses.replace(look, usage=usage_of(ranks[look.rank].pid)) for look in before]
        time.sleep(APART_S)
        used, seconds = {rank: usage_of(process.pid) for rank, process in ranks.items()}, time.monotonic() - began
        after = [dataclasses.replace(look, usage=used[look.rank]) for look in self._read(ranks)]
        first = {look.rank: look for look in before}
        moved = any(has_moved(first[look.rank], look, seconds) for look in after)
        positions = positions_of(after)
        read = {rank for position in positions for rank in position.ranks}
        self._texts = {} if moved else self._texts_of(after)
        self._answer = NodeLook(moved, positions, sorted({*self._job.ranks, *ranks} - read), number)

    def _read(self, ranks: dict[int, Process]) -> list[RankLook]:
        pairs = take.look(sorted(ranks.items()), self._python)
        return [RankLook(rank, stacks, trace) for rank, (stacks, trace) in zip(sorted(ranks), pairs)]

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

    def _save(self, name: str) -> None:
        """Save the last look where `collect` finds it, and what the GPUs do: a tool may hang with its GPU."""
        folder = os.path.join(self._run_dir, HANGS, name)
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
