# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a runner as the main process of its own container.

A container per run, made from a service of a compose file: nothing is restarted between runs, the name is a lock that
Docker gives atomically, and with the runner everything of the run ends, for the container's processes end with it.
"""

from __future__ import annotations

import re

from ..._host.host import Host
from ..._records.job import Job, JobContainer
from .. import job_container
from ..job_container import NONCE, RUN_DIR, RUN_ID, EngineError
from .base import LAST_LINES, Starter, StartError

# 0.4 s if the image exists; longer means that it is being pulled or built.
RUN_S = 60.0
CONFLICT = re.compile(r"Conflict\. The container name .* is already in use")


class Docker(Starter):
    """A container of the compose service; its exit code is kept until the run is stopped or launched again."""

    name = "docker"
    look_every = 1.0

    def command(self, job: Job, argv: list[str]) -> list[str]:
        """Return the command line; it replaces the image's entrypoint and passes no variables that others could see."""
        container = _container(job)
        labels = [word for name, value in container.labels.items() for word in ("--label", f"{name}={value}")]
        compose = [*container.docker, "compose", "--file", container.file, "run", "--detach", "--no-deps"]
        mounts = [word for path in container.mounts for word in ("--volume", f"{path}:{path}:ro")]
        inside = ["--workdir", job.code_dir, "--entrypoint", argv[0], container.service, *argv[1:]]
        return [*compose, "--name", container.name, *labels, *mounts, *inside]

    def start(self, host: Host, job: Job, argv: list[str]) -> int | None:
        container = _container(job)
        try:
            _make_way(host, job, container)
            result = host.run(self.command(job, argv), timeout=RUN_S, cwd=job.workdir)
            if result.rc == 0:
                return None
            if CONFLICT.search(result.err):
                _make_way(host, job, container)  # names the launch that was faster
        except EngineError as error:
            raise StartError(str(error)) from error
        hint = "; does it pull or build the image? the role container does that" if result.timed_out else ""
        why = f"docker compose run: {result.why(RUN_S)}{hint}"
        raise StartError(why, result.err.splitlines()[-LAST_LINES:])

    def ended(self, host: Host, job: Job, pid: int | None) -> str | None:
        container = _container(job)
        try:
            state = job_container.look(host, container)
        except EngineError:
            return None
        if state is None:
            return f"the container {container.name} is gone"
        return None if state.running else f"the container {container.name} {state.describe_end()}"

    def last_words(self, host: Host, job: Job) -> list[str]:
        """Return what the container printed, and what the runner wrote into its log."""
        output = job_container.last_words(host, _container(job), LAST_LINES)
        return [*output, *super().last_words(host, job)][-LAST_LINES:]

    def clean(self, host: Host, job: Job) -> None:
        container = _container(job)
        try:
            state = job_container.look(host, container)
        except EngineError:
            return
        if job_container.ours(state, job.run_dir, job.nonce):
            job_container.end(host, container, job.abort_grace)
            job_container.remove(host, container)


def _container(job: Job) -> JobContainer:
    if job.container is None:
        raise StartError("the job has no container, though its starter is docker")
    return job.container


def _make_way(host: Host, job: Job, container: JobContainer) -> None:
    """Remove what earlier launches left: this run's ended container, and those of runs that have a verdict."""
    state = job_container.look(host, container)
    if state is not None:
        if state.running or not job_container.ours(state, job.run_dir):
            raise StartError(_holder(state, container))
        job_container.remove(host, container)
    for name, run_dir in job_container.ended_elsewhere(host, container, job.workdir).items():
        if job_container.has_verdict(host, run_dir):
            host.run([*container.docker, "rm", name], timeout=job_container.ASK_S)


def _holder(state: job_container.ContainerState, container: JobContainer) -> str:
    """Describe the container that has the name, in one line."""
    labels = state.labels
    docker = " ".join(container.docker)
    if RUN_ID not in labels:
        return f"a container that is not Muster's has the name {container.name}: {docker} rm -f {container.name}"
    since = f"running since {state.started[:19]}Z" if state.running else "not running"
    run_id, nonce, run_dir = (labels.get(name, "?") for name in (RUN_ID, NONCE, RUN_DIR))
    return f"the container {container.name} already exists: run {run_id} (launch {nonce[:8]}), {since}, in {run_dir}"
