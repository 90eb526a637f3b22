# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of one job, as Docker describes it.

Only a container whose labels name the run directory is ever touched: another may have the same name. How Docker is
called comes from the controller alone: a run's files lie in a directory that its container can write.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .._host.host import Host
from .._records.frozen import frozen
from .._records.job import JobContainer, container_name
from .._records.known import parse_json
from .._records.phases import ENDED
from .._records.run import JobOwner, RunRecord
from ..runner.process_tree import signal_name

RUN_DIR, NONCE, RUN_ID, WORKDIR = "muster.run_dir", "muster.nonce", "muster.run_id", "muster.workdir"
ASK_S = 30.0
# What Docker needs beyond the grace period: kill, unmount, record the exit code.
END_SLACK_S = 15
SIGNALED = 128  # added to a signal's number in the exit codes of shells and Docker


class EngineError(Exception):
    """Docker did not answer usefully; the message ends with its own last line."""


@frozen
class ContainerReference:
    """A container's name, and the command that runs Docker."""

    docker: Sequence[str]
    name: str


@frozen
class ContainerState:
    """The state of a container; exit_code: None while it runs or if it never ran; error: Docker's own message."""

    running: bool
    exit_code: int | None
    oom_killed: bool
    error: str
    started: str
    labels: dict[str, str]

    def describe_end(self) -> str:
        """Say in words how it ended: `was killed by SIGKILL, out of memory (exit code 137)`."""
        code = self.exit_code
        if code is None:
            return f"was not started{f' ({self.error})' if self.error else ''}"
        signal = f"was killed by {signal_name(code - SIGNALED)}" if SIGNALED < code < SIGNALED + 65 else "ended"
        memory = ", out of memory" if self.oom_killed else ""
        return f"{signal}{memory} (exit code {code})"


def parse_inspect(text: str) -> ContainerState | None:
    """Read what `docker inspect --type container NAME` prints."""
    try:
        document = parse_json(text)[0]
        state = document["State"]
        running = bool(state["Running"])
        never = state.get("Status") == "created"
        return ContainerState(
            running=running,
            exit_code=None if running or never else int(state["ExitCode"]),
            oom_killed=bool(state.get("OOMKilled")),
            error=str(state.get("Error") or ""),
            started=str(state.get("StartedAt") or ""),
            labels={str(name): str(value) for name, value in (document["Config"].get("Labels") or {}).items()},
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None


def look(host: Host, container: JobContainer | ContainerReference) -> ContainerState | None:
    """Return the state of the container with this name, None where there is none; raise EngineError if Docker fails."""
    command = [*container.docker, "inspect", "--type", "container", container.name]
    result = host.run(command, timeout=ASK_S)
    if result.rc == 0:
        state = parse_inspect(result.out)
        if state is not None:
            return state
    if result.rc is not None and "no such container" in result.err.lower():
        return None
    raise EngineError(f"{' '.join(container.docker)} could not inspect {container.name}: {result.why(ASK_S)}")


def ours(state: ContainerState | None, run_dir: str, nonce: str | None = None) -> bool:
    """Return whether it is a container of this run (of this launch) on this node."""
    if state is None or state.labels.get(RUN_DIR) != run_dir:
        return False
    return nonce is None or state.labels.get(NONCE) == nonce


def processes(host: Host, container: JobContainer | ContainerReference) -> list[int]:
    """Return the pids of what runs in it, as the host counts them."""
    result = host.run([*container.docker, "top", container.name, "-eo", "pid"], timeout=ASK_S)
    return [int(word) for word in result.out.split() if word.isdigit()] if result.rc == 0 else []


def end(host: Host, container: JobContainer | ContainerReference, grace: int) -> None:
    """Stop it: SIGTERM to its runner, SIGKILL to all that is in it after the grace (seconds)."""
    host.run([*container.docker, "stop", "-t", str(grace), container.name], timeout=float(grace + END_SLACK_S))


def remove(host: Host, container: JobContainer | ContainerReference) -> None:
    """Remove it if it has ended; one that runs stays."""
    host.run([*container.docker, "rm", container.name], timeout=ASK_S)


def last_words(host: Host, container: JobContainer | ContainerReference, count: int) -> list[str]:
    """Return the last lines of what its main process printed (the runner writes into its own log)."""
    result = host.run([*container.docker, "logs", "--tail", str(count), container.name], timeout=ASK_S)
    return [*result.out.splitlines(), *result.err.splitlines()][-count:] if result.rc == 0 else []


def recorded(host: Host, run_dir: str, docker: Sequence[str], nonce: str | None = None) -> ContainerReference | None:
    """Return the container that a run (one launch of it) lives in here; None: it is in none.

    Of the run's job files, which its container can write, only the node's rank is believed: a number.
    """
    for name in host.list_dir(run_dir) or []:
        if name.startswith("job.") and name.endswith(".json"):
            job = JobOwner.from_dict(parse_json(host.read_text(os.path.join(run_dir, name))))
            if job.container and nonce in (None, job.nonce) and job.node_rank is not None and job.node_rank >= 0:
                return ContainerReference(docker, container_name(os.path.basename(run_dir), job.node_rank))
    return None


def ended_elsewhere(host: Host, container: JobContainer | ContainerReference, workdir: str) -> dict[str, str]:
    """Return the ended containers of a work directory's runs: name -> run directory."""
    shape = '{{.Names}}\t{{.Label "' + RUN_DIR + '"}}'
    filters = ["--filter", "status=exited", "--filter", f"label={WORKDIR}={workdir}"]
    result = host.run([*container.docker, "ps", "--all", *filters, "--format", shape], timeout=ASK_S)
    rows = [line.partition("\t") for line in result.out.splitlines()] if result.rc == 0 else []
    return {name: run_dir for name, _tab, run_dir in rows if run_dir}


def has_verdict(host: Host, run_dir: str) -> bool:
    """Return whether a run's end is written down: until then its container is the only record of it."""
    return RunRecord.from_dict(parse_json(host.read_text(os.path.join(run_dir, "state.json")))).phase in ENDED


def describe(host: Host, container: JobContainer | ContainerReference, run_dir: str) -> tuple[str, int]:
    """Return what became of the container of a run whose runner is gone, and the number of processes left in it."""
    try:
        state = look(host, container)
    except EngineError as error:
        return str(error), 0
    if not ours(state, run_dir) or state is None:
        return f"its container {container.name} is gone", 0
    if state.running:
        return f"its container {container.name} still runs", max(1, len(processes(host, container)))
    return f"its container {container.name} {state.describe_end()}", 0
