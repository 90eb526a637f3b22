# SPDX-License-Identifier: GPL-3.0-or-later
"""Start torchrun so that its ranks write into the runner's pipes and its failures are reported as data.

Placed beside the runner on the node and run by the training interpreter: the only file here that imports torch, and
only when it runs. Where this torch has not the API, plain torchrun runs and the ranks' output lands in the node's log.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Callable

# torch's own exit barrier is 300 s: after that the head leaves with its store, while peers may still train.
# The gang ends the barrier, not this timeout (its milliseconds fit into 31 bits); without lost_after the timeout does.
EXIT_BARRIER_S, ALONE_EXIT_BARRIER_S = 14 * 86400.0, 3600.0
# How long the ranks' error files may be looked for before the ranks get their signal.
LOOK_S = 1.0
# The launcher that makes the environment of the ranks and calls torchrun, here and not in a rank.
ACCELERATE = "accelerate.commands.launch"


class RankPipes:
    """Torch's LogsSpecs by shape: each rank's output goes to the pipe that the runner reads."""

    def __init__(self, logs: Any, run_dir: str) -> None:
        self._logs = logs
        self._pipes = os.path.join(run_dir, "pipes")
        self.root_log_dir = os.path.join(run_dir, "errors")

    def reify(self, envs: dict[int, dict[str, str]]) -> Any:
        """Return where the output of each local rank goes (torch's LogsDest)."""
        pipes = {rank: os.path.join(self._pipes, f"rank_{rank}") for rank in envs}
        files = {rank: os.path.join(self.root_log_dir, f"rank_{rank}.json") for rank in envs}
        for rank, path in files.items():
            envs[rank]["TORCHELASTIC_ERROR_FILE"] = path
        return self._logs.LogsDest(pipes, pipes, {}, {}, files)


def _lengthen_exit_barrier(api: Any, seconds: float) -> None:
    """Let the head's agent, which hosts the store, outstay its peers."""
    if "exit_barrier_timeout" not in inspect.signature(api.LocalElasticAgent).parameters:
        sys.stderr.write("muster: this torch waits 5 minutes at its end: nodes that need longer than that will fail\n")
        return
    api.LocalElasticAgent = functools.partial(api.LocalElasticAgent, exit_barrier_timeout=seconds)


def _shorten_close(processes: Any, report: int, grace: float) -> dict[int, dict[str, Any]]:
    """Report a failed rank at once, and give the other ranks only the run's grace period instead of torch's 30 s.

    The dictionary returned gets, by local rank, the ranks that had failed before torchrun sent the others a signal.
    """
    early_failures: dict[int, dict[str, Any]] = {}
    if not hasattr(processes, "PContext"):
        return early_failures
    close = processes.PContext.close
    closed = False

    def close_in_time(self: Any, death_sig: Any = None, timeout: float = grace) -> None:
        nonlocal closed
        if not closed:  # torchrun closes twice; the second time its own signal has ended the ranks
            # In a thread: storage that stands still must not delay the signal.
            look = threading.Thread(target=lambda: early_failures.update(_failed_ranks(self)), daemon=True)
            look.start()
            look.join(LOOK_S)
            _write_line(report, _other_ranks(self, early_failures))
        closed = True
        if getattr(self, "_failures", None):
            _write_line(report, {"closing": True})
            timeout = min(timeout, grace)
        with _delayed_sigterm():
            close(self, death_sig, timeout)

    processes.PContext.close = close_in_time
    return early_failures


@contextlib.contextmanager
def _delayed_sigterm() -> Iterator[None]:
    """Let SIGTERM wait until the ranks have ended: a runner that is killed sends it once for each of its threads."""
    delayed: list[int] = []
    handler = signal.signal(signal.SIGTERM, lambda number, _frame: delayed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        if delayed:
            signal.raise_signal(signal.SIGTERM)


def _failed_ranks(context: Any) -> dict[int, dict[str, Any]]:
    """Return the ranks that have failed by now: local rank -> its record, as `_report` writes them."""
    failures = {}
    for local_rank, handler in getattr(context, "subprocess_handlers", {}).items():
        code, path = handler.proc.poll(), context.error_files[local_rank]
        if code is None and os.path.isfile(path):
            code = 1  # it has recorded its exception, and its interpreter is still exiting
        if code and code != -signal.SIGTERM:
            rank, when = int(context.envs[local_rank]["RANK"]), time.time()
            failures[local_rank] = {"rank": rank, "local_rank": local_rank, "code": code, "time": when, "error": path}
    return failures


def _other_ranks(context: Any, failures: dict[int, dict[str, Any]]) -> dict[str, list[int]]:
    """Return which ranks had exited with code 0 when torchrun ends the others, and which were still running."""
    ranks: dict[str, list[int]] = {"exited": [], "running": []}
    for local_rank, handler in getattr(context, "subprocess_handlers", {}).items():
        code = handler.proc.poll()
        if code == 0 or (code is None and local_rank not in failures):
            ranks["running" if code is None else "exited"].append(int(context.envs[local_rank]["RANK"]))
    return ranks


def _report_pids(processes: Any, report: int) -> None:
    """Report the ranks' PIDs once torchrun has started them, in the order of the ranks."""
    if not hasattr(processes, "PContext"):
        return
    start = processes.PContext.start

    def start_and_report(self: Any) -> None:
        start(self)
        handlers = sorted(getattr(self, "subprocess_handlers", {}).items())
        _write_line(report, {"pids": [handler.proc.pid for _local_rank, handler in handlers]})

    processes.PContext.start = start_and_report


def _keep_store(rendezvous: Any) -> list[Any]:
    """Return a list that gets the store in which the ranks meet, if this node hosts it and can list its keys."""
    stores: list[Any] = []
    join = rendezvous.StaticTCPRendezvous.next_rendezvous

    def join_and_keep(self: Any) -> Any:
        place = join(self)
        store = getattr(self, "_store", None)
        if self.rank == 0 and hasattr(store, "list_keys"):
            stores.append((store, f"{self.run_id}/"))
        return place

    rendezvous.StaticTCPRendezvous.next_rendezvous = join_and_keep
    return stores


def _is_alone(stores: list[Any]) -> bool:
    """Return whether no rank has put anything into the store; torchrun's own keys begin with its run ID."""
    with contextlib.suppress(RuntimeError):  # a backend of the store that can't list its keys
        return any(all(key.startswith(prefix) for key in store.list_keys()) for store, prefix in stores)
    return False


def _read_json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def _note_kills(handlers: Any) -> list[int]:
    """Return a list that gets the local rank of each process that torch kills because SIGTERM did not end it."""
    killed: list[int] = []
    if not hasattr(handlers, "SubprocessHandler"):
        return killed
    close = handlers.SubprocessHandler.close

    def noting(self: Any, death_sig: Any = None) -> None:
        if death_sig == signal.SIGKILL:
            killed.append(self.local_rank_id)
        close(self, death_sig)

    handlers.SubprocessHandler.close = noting
    return killed


def _write_line(descriptor: int, record: dict[str, Any]) -> None:
    _write(descriptor, json.dumps([record]).encode() + b"\n")


def _send(records: list[dict[str, Any]], descriptor: int) -> None:
    _write(descriptor, json.dumps(records).encode())
    os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the runner was killed: the ranks must end all the same
        while data:
            data = data[os.write(descriptor, data) :]


def _report(failures: dict[int, Any], descriptor: int) -> None:
    """Tell the runner which ranks failed, earliest first."""
    records = [
        {
            "rank": rank,
            "local_rank": failure.local_rank,
            "code": failure.exitcode,
            "time": failure.timestamp,
            # Without a file torch fills in {"message": "<NONE>"}.
            "error": failure.error_file_data if os.path.isfile(failure.error_file) else None,
        }
        for rank, failure in sorted(failures.items(), key=lambda item: item[1].timestamp)
    ]
    _send(records, descriptor)


def _call_accelerate(torchrun: Any, args: Any, run: Callable[[Any], int]) -> int:
    """Let accelerate launch run its program by torchrun as args say, and return the exit code.

    What an attempt or a spare changes, it gets here, and a configuration that decides nothing: the user's own comes
    later on its command line.
    """
    launch: Any = importlib.import_module(ACCELERATE)
    host, _colon, port = args.rdzv_endpoint.rpartition(":")
    config = os.path.join(os.environ["MUSTER_RUN_DIR"], "accelerate.json")
    with open(config, "w", encoding="utf-8") as stream:
        json.dump({"distributed_type": "NO", "num_processes": 1}, stream)  # some versions need a number (0.28)
    place = [f"--machine_rank={args.node_rank}", f"--main_process_ip={host}", f"--main_process_port={port}"]
    codes: list[int] = []

    def start_program(program: Any) -> None:
        for name in ("module", "no_python", "training_script", "training_script_args"):
            setattr(args, name, getattr(program, name))
        codes.append(run(args))

    def start_plain(options: Any) -> None:
        """Start ranks that accelerate would start without torchrun: a single one, or several on CPUs by MPI."""
        if options.cpu or options.use_cpu:
            os.environ["ACCELERATE_USE_CPU"] = "true"
        launch.multi_gpu_launcher(options)

    torchrun.run, launch.simple_launcher = start_program, start_plain
    launch.launch_command(
        launch.launch_command_parser().parse_args([f"--config_file={config}", *place, *args.training_script_args])
    )
    if not codes:
        raise SystemExit(
            "muster: accelerate launch did not start the ranks with torchrun, as the launcher accelerate expects; "
            "give -e launcher=exec -e script=accelerate, or install another version of accelerate"
        )
    return codes[0]


def main(argv: list[str]) -> int:
    """Run torchrun with these arguments; return its exit code."""
    torchrun: Any = importlib.import_module("torch.distributed.run")
    api: Any = importlib.import_module("torch.distributed.launcher.api")
    logs: Any = importlib.import_module("torch.distributed.elastic.multiprocessing.api")
    errors: Any = importlib.import_module("torch.distributed.elastic.multiprocessing.errors")

    report = int(os.environ.pop("MUSTER_REPORT_FD"))  # ours, not the ranks'
    grace = float(os.environ.pop("MUSTER_ABORT_GRACE"))
    loses_nodes = float(os.environ.pop("MUSTER_LOST_AFTER")) > 0
    args = torchrun.parse_args(argv)
    os.environ.pop("PET_RDZV_ENDPOINT", None)  # read by now; a torchrun that a rank starts must not inherit it
    _lengthen_exit_barrier(api, EXIT_BARRIER_S if loses_nodes else ALONE_EXIT_BARRIER_S)
    stores = _keep_store(importlib.import_module("torch.distributed.elastic.rendezvous.static_tcp_rendezvous"))
    killed = _note_kills(logs)
    _report_pids(logs, report)
    early_failures = _shorten_close(logs, report, grace)
    run_dir = os.environ["MUSTER_RUN_DIR"]
    run_plain = torchrun.run

    def run(args: Any) -> int:
        try:
            if not (os.path.isdir(os.path.join(run_dir, "pipes")) and hasattr(logs, "LogsDest")):
                run_plain(args)
                return 0
            config, command, command_args = torchrun.config_from_args(args)
            config.logs_specs = RankPipes(logs, run_dir)
            api.elastic_launch(config=config, entrypoint=command)(*command_args)
            if config.max_nodes * config.nproc_per_node > 1 and _is_alone(stores):
                _write_line(report, {"alone": True})
        except errors.ChildFailedError as error:
            _report(error.failures, report)
            return 1
        except logs.SignalException as error:
            failures = [{**record, "error": _read_json(record["error"])} for record in early_failures.values()]
            _send([*failures, *({"killed": local_rank} for local_rank in killed)], report)
            return 1 if failures else 128 + int(error.sigval)
        return 0

    return _call_accelerate(torchrun, args, run) if args.training_script == ACCELERATE else run(args)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
