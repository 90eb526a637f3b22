# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes belong to a run, and how to signal one of them without ever hitting a stranger."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal

from .process import Process, parse_stat

PROC = "/proc"
# The folder of a run directory with the pipes that its ranks write to.
PIPES = "pipes"
# After SIGKILL only a process in uninterruptible sleep stays; it is named then and left to the kernel.
UNKILLABLE_AFTER_S = 10.0
# Every rank has the first; systemd sets the second only for what it runs when a unit has ended (systemd.exec(5)).
INTACT = frozenset({"HOME", "SERVICE_RESULT"})


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def look(pid: int) -> Process | None:
    """Return the living process, None where there is none (a zombie does not count)."""
    process = parse_stat(read(f"{PROC}/{pid}/stat").decode("utf-8", "replace"))
    return None if process is None or process.state in "ZX" else process


def every() -> list[Process]:
    """Return all living processes that are visible here."""
    processes = (look(int(name)) for name in os.listdir(PROC) if name.isdigit())
    return [process for process in processes if process is not None]


def environment(pid: int) -> dict[str, str]:
    """Return the environment the process was started with; empty when it may not be read."""
    entries = read(f"{PROC}/{pid}/environ").decode("utf-8", "surrogateescape").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def boot_id() -> str:
    """Return the id of the kernel's boot, empty when unreadable."""
    return read(f"{PROC}/sys/kernel/random/boot_id").decode("ascii", "replace").strip()


def command(pid: int) -> str:
    """Return the process's short name (15 bytes, from the kernel)."""
    return read(f"{PROC}/{pid}/comm").decode("utf-8", "replace").strip()


def descendants(root: int) -> list[Process]:
    """Return every living descendant of a pid, children before grandchildren."""
    children: dict[int, list[Process]] = {}
    for process in every():
        children.setdefault(process.ppid, []).append(process)
    processes: list[Process] = []
    pending = [root]
    while pending:
        below = children.get(pending.pop(0), [])
        processes += below
        pending += [process.pid for process in below]
    return processes


def processes_of(run_id: str, run_dir: str, nonce: str | None = None) -> list[Process]:
    """Return the living processes of this run here (never this process itself), of one launch where a nonce is given.

    They carry its mark in their environment, or where they have rewritten that, hold a mark or a rank's pipe open,
    or live in its systemd unit; or they descend from such a process, or belong to the session that it leads. The
    mark is the run id with the run directory of this node: two nodes of one run may share a machine.
    """
    marks = {"MUSTER_RUN_ID": run_id, "MUSTER_RUN_DIR": run_dir}
    if nonce is not None:
        marks["MUSTER_NONCE"] = nonce
    mark = _mark_name(run_id, run_dir, nonce or "")
    # Nothing tells which launch a pipe belongs to.
    places = (f"/memfd:{mark}", *([os.path.join(run_dir, PIPES, "")] if nonce is None else []))
    unit = unit_name(run_id, run_dir, nonce or "")
    others = [process for process in every() if process.pid != os.getpid()]
    members = {process.pid for process in others if _is_marked(process, marks, places, unit)}
    size = -1
    while members and size != len(members):
        size = len(members)
        members.update(other.pid for other in others if other.ppid in members or other.session in members)
    return [process for process in others if process.pid in members]


def _is_marked(process: Process, marks: dict[str, str], places: tuple[str, ...], unit: str) -> bool:
    variables = environment(process.pid)
    if marks.items() <= variables.items():
        return True
    if variables.keys() & INTACT:
        return False
    groups = read(f"{PROC}/{process.pid}/cgroup").decode("utf-8", "replace")
    return f"/{unit}" in groups or any(path.startswith(places) for path in open_files(process))


def _key(run_id: str, run_dir: str) -> str:
    return hashlib.sha256(os.fsencode(f"{run_id} {run_dir}")).hexdigest()[:32]


def unit_name(run_id: str, run_dir: str, nonce: str) -> str:
    """Return the name of a launch's systemd unit here; without a nonce, what the names of all launches begin with."""
    return f"muster-{run_id}-{_key(run_id, run_dir)[:8]}-{nonce[:8]}"


def _mark_name(run_id: str, run_dir: str, nonce: str) -> str:
    """Return the name of a launch's mark; it has at most 249 bytes (memfd_create(2)), which a path may not."""
    return f"muster-{_key(run_id, run_dir)}-{nonce}"


def open_mark(run_id: str, run_dir: str, nonce: str) -> int | None:
    """Return a descriptor that marks the processes that inherit it, None where the kernel has no such files."""
    try:
        return os.memfd_create(_mark_name(run_id, run_dir, nonce))
    except (AttributeError, OSError):
        return None


def signal_name(number: int) -> str:
    """Return ``SIGSEGV`` for 11, ``signal 77`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def is_runner(process: Process) -> bool:
    """Return whether it is a run's runner, by its mark."""
    return run_of_runner(process) is not None


def run_of_runner(process: Process) -> tuple[str, str] | None:
    """Return the run ID and the run directory of a run's runner, by its mark; None for any other process."""
    marks = environment(process.pid)
    if marks.get("MUSTER_ROLE") != "runner":
        return None
    return marks.get("MUSTER_RUN_ID", ""), marks.get("MUSTER_RUN_DIR", "")


def living_runs() -> set[tuple[str, str]]:
    """Return the run ID and the run directory of every run whose runner is visible here."""
    return set(filter(None, map(run_of_runner, every())))


def nonce_of(process: Process) -> str | None:
    """Return the launch that a process belongs to, by its mark."""
    return environment(process.pid).get("MUSTER_NONCE")


def open_files(process: Process) -> list[str]:
    """Return the paths of its open files; empty where they may not be read; what was removed ends with ` (deleted)`."""
    return [path for _link, path in open_links(process)]


def open_links(process: Process) -> list[tuple[str, str]]:
    """Return the same with the links by which they can be opened, first."""
    folder, links = f"{PROC}/{process.pid}/fd", []
    with contextlib.suppress(OSError):  # gone, or another user's
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed meanwhile
                links.append((f"{folder}/{name}", os.readlink(f"{folder}/{name}")))
    return links


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal (proc_pid_status(5), SigCgt)."""
    for line in read(f"{PROC}/{pid}/status").splitlines():
        name, _colon, mask = line.partition(b":")
        if name == b"SigCgt":
            return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def kernel_function(pid: int) -> str | None:
    """Return the function of the kernel in which a process waits, None where it does not or may not be read."""
    name = read(f"{PROC}/{pid}/wchan").decode("ascii", "replace").strip("\0\n")
    return name if name not in ("", "0") else None


def removed_files(process: Process) -> set[str]:
    """Return the paths of files that it has open and that were removed."""
    ending = " (deleted)"
    return {path[: -len(ending)] for path in open_files(process) if path.endswith(ending)}


def _pidfd_open(pid: int) -> int | None:
    """Return a handle of exactly this process; None where there are none (then the start time has to do).

    Kernels before 5.3, sandboxes and Pythons built on old systems have no pidfd.
    """
    if not (hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")):
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


def send(process: Process, number: int) -> bool:
    """Signal exactly this process; False if it is gone or its pid has been reused."""
    try:
        handle = _pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        now = look(process.pid)
        if now is None or now.start_time != process.start_time:
            return False
        if handle is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
