# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the stacks of a run's ranks on this node: by the ranks' own answer, by py-spy, or else by faulthandler."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import threading
from collections.abc import Iterable

from ..._records.layout import HEARTBEAT, STATE
from ..._records.run import Heartbeat, RunRecord
from ..._records.stacks import MOST_PROCESSES, RankStacks
from .. import files, process_tree
from ..attempt.program import find_program
from ..process import Process
from . import handler, parse, recorder

ANSWER, PY_SPY, FAULTHANDLER = "answer", "py-spy", "faulthandler"
PY_SPY_S = 5.0
# py-spy processes at once: each takes a core while it looks for the interpreter.
AT_ONCE = 16
NO_PY_SPY = "py-spy is not installed"
NO_HANDLER = (
    "its process is not one of Python, or Python was started without Muster's handler (options -I, -E or -S, an "
    "emptied PYTHONPATH, or a launch by an older Muster)"
)
STATES = {"D": "it waits in the kernel (state D)", "T": "it is stopped (state T)", "t": "a debugger holds it (state t)"}


@dataclasses.dataclass
class _Target:
    """A process whose stacks are wanted, and what is known of it so far."""

    process: Process
    stacks: RankStacks


def take_stacks(run_id: str, run_dir: str, python: str, rank: int | None = None) -> list[RankStacks]:
    """Return the stacks of each rank here, or of one; python: the training interpreter, beside which py-spy may be."""
    ranks = [pair for pair in find_ranks(run_id, run_dir) if rank in (None, pair[0])]
    return [stacks for stacks, _trace in look(ranks, python)]


def look(
    ranks: Iterable[tuple[int | None, Process]], python: str, may_signal: bool = True
) -> list[tuple[RankStacks, str]]:
    """Return the stacks of these ranks, and what torch has recorded in each, empty where that is not known.

    may_signal: whether faulthandler may read the others, which has ended ranks with busy threads.
    """
    targets = [_Target(process, RankStacks(rank, process.pid)) for rank, process in ranks]
    answers = recorder.ask(target.process for target in targets)
    for target in targets:
        if threads := answers.get(target.process.pid, recorder.RankAnswer()).threads:
            target.stacks = dataclasses.replace(target.stacks, source=ANSWER, threads=threads)
    _run_in_threads([target for target in targets if target.stacks.source is None], python)
    silent = [target for target in targets if target.stacks.source is None]
    texts = handler.ask(target.process for target in silent) if may_signal else {}
    for target in silent:
        threads = parse.parse_faulthandler(texts.get(target.process.pid, ""))
        if threads:
            target.stacks = dataclasses.replace(target.stacks, source=FAULTHANDLER, threads=threads)
        else:
            target.stacks = dataclasses.replace(target.stacks, why=f"{_explain(target.process)}; {target.stacks.why}")
    return [(target.stacks, answers.get(target.process.pid, recorder.RankAnswer()).trace) for target in targets]


def find_ranks(run_id: str, run_dir: str) -> list[tuple[int | None, Process]]:
    """Return the rank and the process of each rank of a run here; without any, the Python processes of the program."""
    processes = {process.pid: process for process in process_tree.processes_of(run_id, run_dir)}
    state = RunRecord.from_dict(files.read_json(os.path.join(run_dir, STATE)))
    beat = Heartbeat.from_dict(files.read_json(os.path.join(run_dir, HEARTBEAT)))
    first = state.first_rank or 0
    ranks = {pid: first + number for number, pid in enumerate(beat.pids or []) if pid in processes}
    if not ranks:
        named = {pid: process_tree.environment(pid).get("RANK", "") for pid in processes}
        ranks = {
            pid: int(rank)
            for pid, rank in named.items()
            # What a rank has started has its rank, too.
            if rank.isascii() and rank.isdigit() and named.get(processes[pid].ppid) != rank
        }
    pairs: list[tuple[int | None, Process]] = []
    for rank, pid in sorted((rank, pid) for pid, rank in ranks.items()):
        pairs.append((rank, _interpreter(processes[pid], processes.values())))
    if not ranks:
        pairs += [(None, process) for process in processes.values() if handler.has_handler(process)]
    return pairs[:MOST_PROCESSES]


def _interpreter(process: Process, processes: Iterable[Process]) -> Process:
    """Return the process itself, or the nearest one below it that has the handler, as of a wrapper in a shell."""
    level = [process]
    while level:
        for candidate in level:
            if handler.has_handler(candidate):
                return candidate
        pids = {candidate.pid for candidate in level}
        level = [candidate for candidate in processes if candidate.ppid in pids]
    return process


def _run_in_threads(targets: list[_Target], python: str) -> None:
    """Let py-spy read all targets, several at once; note for each why it could not."""
    waiting = list(targets)

    def work() -> None:
        while True:
            try:
                target = waiting.pop()
            except IndexError:
                return
            target.stacks = _by_py_spy(target, python)

    threads = [threading.Thread(target=work) for _number in range(min(AT_ONCE, len(targets)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _by_py_spy(target: _Target, python: str) -> RankStacks:
    search = {"MUSTER_PYTHON": python, "PATH": os.environ.get("PATH", os.defpath)}
    try:
        program = find_program(PY_SPY, search)
    except FileNotFoundError:
        return dataclasses.replace(target.stacks, why=NO_PY_SPY)
    try:
        done = subprocess.run(
            [program, "dump", "--json", "--pid", str(target.process.pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PY_SPY_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return dataclasses.replace(target.stacks, why=f"{PY_SPY} gave no answer within {PY_SPY_S:.0f} s")
    except OSError as error:
        return dataclasses.replace(target.stacks, why=f"{program} cannot be executed: {error.strerror}")
    threads = parse.parse_py_spy(done.stdout.decode("utf-8", "replace"))
    if done.returncode == 0 and threads:
        return dataclasses.replace(target.stacks, source=PY_SPY, threads=threads)
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return dataclasses.replace(target.stacks, why=f"{PY_SPY}: {words[0] if words else f'exit code {done.returncode}'}")


def _explain(process: Process) -> str:
    """Return why a process has written nothing."""
    now = process_tree.look(process.pid)
    if now is None or now.start_time != process.start_time:
        return "its process has ended"
    if not handler.has_handler(process):
        return NO_HANDLER
    where = process_tree.kernel_function(process.pid)
    return f"no answer within {handler.BEGIN_S:.0f} s: {STATES.get(now.state, f'state {now.state}')}" + (
        f", in {where}" if where else ""
    )
