# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of a job, from what Docker prints: whose it is, how it ended, and a start that does not give way."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job, JobContainer
from ansible_collections.muster.train.plugins.module_utils._runs import job_container, start
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.starters.docker import Docker
from ansible_collections.muster.train.plugins.module_utils._runs.stop import Swept, stop
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job

NAME = "muster-test_run-0"
DOCKER = ["sudo", "-n", "docker"]
# docker inspect --type container NAME of Docker 20.10, as far as it is read.
ENDED = {
    "Status": "exited",
    "Running": False,
    "OOMKilled": False,
    "ExitCode": 0,
    "Error": "",
    "StartedAt": "2026-11-20T14",
}
ABSENT = CommandResult(1, "[]\n", f"Error: No such container: {NAME}\n")


def in_container(tmp_path: Path, **changes: Any) -> Job:
    """A job in a container."""
    job = make_job(tmp_path, ["python3", "train.py"], starter="docker", runtime="docker")
    labels = {"muster.run_id": job.run_id, "muster.nonce": job.nonce, "muster.run_dir": job.run_dir}
    container = JobContainer(
        ["sudo", "-n", "docker"],
        "/c/compose.yaml",
        "train",
        NAME,
        "python3.11",
        {**labels, "muster.workdir": job.workdir},
    )
    return make_job(tmp_path, ["python3", "train.py"], **{"starter": "docker", "container": container, **changes})


class Engine:
    """A Docker that knows one container and notes what it is told to do."""

    def __init__(self, labels: dict[str, str] | None = None, **state: Any) -> None:
        self.labels = labels
        self.state = {**ENDED, **state}
        self.verbs: list[str] = []
        self.run_answer = CommandResult(0, "", "")

    @property
    def host(self) -> Host:
        return Host(run=self)

    def __call__(self, argv: Sequence[str], _timeout: float, _cwd: str | None) -> CommandResult:
        words = [word for word in argv if word not in ("sudo", "-n", "docker")]
        verb = words[0]
        if verb == "inspect":
            if self.labels is None:
                return ABSENT
            return CommandResult(0, json.dumps([{"State": self.state, "Config": {"Labels": self.labels}}]), "")
        self.verbs.append(verb if verb != "compose" else "run")
        if verb == "rm":
            self.labels = None
        if verb == "stop":
            self.state.update(Running=False, ExitCode=137)
        if verb == "top":
            return CommandResult(0, "PID\n4711\n4712\n", "")
        return self.run_answer if verb == "compose" else CommandResult(0, "", "")


def labels_of(job: Job) -> dict[str, str]:
    assert job.container is not None
    return dict(job.container.labels)


ENDS: dict[str, dict[str, Any]] = {
    "0": {"ExitCode": 0},
    "3": {"ExitCode": 3},
    "SIGKILL": {"ExitCode": 137},
    "out of memory": {"ExitCode": 137, "OOMKilled": True},
    "not started": {"Status": "created", "Error": "no runtime"},
}


@pytest.mark.parametrize("state", ENDS.values(), ids=ENDS)
def test_how_a_container_ended(state: dict[str, Any]) -> None:
    container = job_container.parse_inspect(json.dumps([{"State": {**ENDED, **state}, "Config": {"Labels": None}}]))
    assert container is not None
    expected = (state.get("ExitCode"), state.get("OOMKilled", False), state.get("Error", ""))
    assert (container.exit_code, container.oom_killed, container.error) == expected


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '[{"State": 1}]', '[{"State": {"Running": true}}]', "null"])
def test_invalid_inspect_output_is_none(text: str) -> None:
    assert job_container.parse_inspect(text) is None


def test_the_command_gives_the_container_its_name_and_no_variable(tmp_path: Path) -> None:
    job = in_container(tmp_path)
    command = Docker().command(job, start.runner_command(job, "docker"))
    assert command[:9] == [
        "sudo",
        "-n",
        "docker",
        "compose",
        "--file",
        "/c/compose.yaml",
        "run",
        "--detach",
        "--no-deps",
    ]
    assert command[9:11] == ["--name", NAME]
    assert f"muster.nonce={job.nonce}" in command
    assert not {"--env", "-e"} & set(command)
    entry = command.index("--entrypoint")
    assert command[entry : entry + 3] == ["--entrypoint", "/usr/bin/env", "train"]
    assert command[-4:] == ["python3.11", f"{job.run_dir}/runner.pyz", job.run_dir, job.nonce]
    assert "--volume" not in command


def test_the_container_gets_the_nodes_files_at_their_own_paths(tmp_path: Path) -> None:
    plain = in_container(tmp_path).container
    assert plain is not None
    job = in_container(tmp_path, container=dataclasses.replace(plain, mounts=["/opt/topo.xml"]))
    command = Docker().command(job, start.runner_command(job, "docker"))
    assert command[command.index("--volume") :][:2] == ["--volume", "/opt/topo.xml:/opt/topo.xml:ro"]
    assert command.index("--volume") < command.index("train")


def test_an_ended_container_of_this_run_is_replaced(tmp_path: Path) -> None:
    job = in_container(tmp_path)
    engine = Engine({**labels_of(job), "muster.nonce": "f" * 32})
    assert Docker().start(engine.host, job, ["/usr/bin/env"]) is None
    assert engine.verbs == ["rm", "ps", "run"]


@pytest.mark.parametrize("changes", [{"muster.run_dir": "/elsewhere"}, {}])
def test_a_running_container_or_a_strangers_is_not_replaced(tmp_path: Path, changes: dict[str, str]) -> None:
    job = in_container(tmp_path)
    engine = Engine({**labels_of(job), **changes}, Running=not changes)
    with pytest.raises(StartError, match=NAME):
        Docker().start(engine.host, job, ["/usr/bin/env"])
    assert engine.verbs == []


def test_the_slower_launch_names_the_faster_one(tmp_path: Path) -> None:
    job, engine = in_container(tmp_path), Engine()

    def race(argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        answer = engine(argv, timeout, cwd)
        if "run" in argv:
            engine.labels, engine.state["Running"] = {**labels_of(job), "muster.nonce": "f" * 32}, True
            return CommandResult(
                1, "", f'Error response from daemon: Conflict. The container name "/{NAME}" is already in use by'
            )
        return answer

    with pytest.raises(StartError, match="ffffffff"):
        Docker().start(Host(run=race), job, ["/usr/bin/env"])


def test_a_start_that_fails_shows_dockers_message(tmp_path: Path) -> None:
    engine = Engine()
    engine.run_answer = CommandResult(
        1, "", "Error response from daemon: no space\nError: failed to start containers: 5a\n"
    )
    with pytest.raises(StartError) as refused:
        Docker().start(engine.host, in_container(tmp_path), ["/usr/bin/env"])
    assert refused.value.tail[0].endswith("no space")


def refused_start(engine: Engine, job: Job) -> StartError:
    """The refusal of a start in a container that ends at once."""

    def failing(argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        answer = engine(argv, timeout, cwd)
        if "run" in argv:
            engine.labels, engine.state["ExitCode"] = labels_of(job), 2
        return answer

    with pytest.raises(StartError) as refused:
        start.start(Host(run=failing), job, RUNNER)
    return refused.value


def test_a_start_that_fails_leaves_no_container_and_no_files(tmp_path: Path) -> None:
    job, engine = in_container(tmp_path, join_timeout=0), Engine()
    assert NAME in str(refused_start(engine, job))
    assert engine.verbs[-2:] == ["stop", "rm"]
    assert not list(Path(job.run_dir).glob("private.*"))


def test_the_login_gives_a_container_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, engine = in_container(tmp_path), Engine()
    written: dict[str, Any] = {}

    def look(argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        if "run" in argv:
            written.update(json.loads(Path(job.run_dir, f"private.{job.nonce}.json").read_text()))
            return CommandResult(1, "", "enough")
        return engine(argv, timeout, cwd)

    with pytest.raises(StartError):
        start.start(Host(run=look), job, RUNNER, secrets={"TOKEN": "x"})
    assert written == {"key": None, "secrets": {"TOKEN": "x"}}


def lost(tmp_path: Path) -> Job:
    """A run whose runner left no verdict."""
    job = in_container(tmp_path)
    Path(job.run_dir).mkdir(parents=True)
    Path(job.run_dir, "job.json").write_text(json.dumps(job.to_dict()))
    Path(job.run_dir, "state.json").write_text(json.dumps({"phase": "running", "pid": 7, "boot_id": ""}))
    return job


def test_status_says_how_the_container_of_a_lost_run_ended(tmp_path: Path) -> None:
    job = lost(tmp_path)
    run = read_run(Engine(labels_of(job), ExitCode=137, OOMKilled=True).host, "node0", job.workdir, job.run_id, DOCKER)
    assert (run.phase, run.left, NAME in str(run.why)) == ("lost", 0, True)


def test_processes_of_a_container_without_a_runner_are_counted(tmp_path: Path) -> None:
    job = lost(tmp_path)
    assert read_run(Engine(labels_of(job), Running=True).host, "node0", job.workdir, job.run_id, DOCKER).left == 2


def test_stop_ends_and_removes_a_container_without_a_runner(tmp_path: Path) -> None:
    job = lost(tmp_path)
    engine = Engine(labels_of(job), Running=True)
    changed, run, swept = stop(engine.host, "node0", job.workdir, job.run_id, None, 1, False, DOCKER)
    assert (changed, run.phase, swept) == (True, "lost", Swept(2, []))
    assert NAME in str(run.why)
    assert engine.verbs == ["top", "stop", "rm"]


def test_stop_in_check_mode_touches_no_container(tmp_path: Path) -> None:
    job = lost(tmp_path)
    engine = Engine(labels_of(job), Running=True)
    assert stop(engine.host, "node0", job.workdir, job.run_id, None, 1, True, DOCKER)[0]
    assert not {"stop", "rm"} & set(engine.verbs)


def test_stop_leaves_another_launchs_container_alone(tmp_path: Path) -> None:
    job = lost(tmp_path)
    engine = Engine({**labels_of(job), "muster.nonce": "f" * 32}, Running=True)
    stop(engine.host, "node0", job.workdir, job.run_id, job.nonce, 1, False, DOCKER)
    assert not {"stop", "rm"} & set(engine.verbs)


@pytest.mark.parametrize("forged", [{"docker": ["touch", "PWNED"], "name": "x"}, {"name": "-f"}, "text", 1, {}])
def test_docker_is_never_called_as_a_file_in_the_container_says(tmp_path: Path, forged: object) -> None:
    job = lost(tmp_path)
    engine, commands = Engine(labels_of(job), Running=True), []
    Path(job.run_dir, "job.json").write_text(json.dumps({**job.to_dict(), "container": forged}))

    def run(argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        commands.append(list(argv))
        return engine(argv, timeout, cwd)

    read_run(Host(run=run), "node0", job.workdir, job.run_id, DOCKER)
    stop(Host(run=run), "node0", job.workdir, job.run_id, None, 1, False, DOCKER)
    assert commands
    assert all(argv[:3] == DOCKER and NAME in argv for argv in commands)
    assert not [name for argv in commands for name in argv if name in ("PWNED", "-f")]


@pytest.mark.parametrize("rank", ["0 --help", -1, True, None, 1.0, [0]])
def test_an_invalid_rank_names_no_container(tmp_path: Path, rank: object) -> None:
    job = lost(tmp_path)
    Path(job.run_dir, "job.json").write_text(json.dumps({**job.to_dict(), "node_rank": rank}))
    assert job_container.recorded(Host(), job.run_dir, DOCKER) is None


def test_a_stop_request_is_written_nowhere_but_in_the_runs_directory(tmp_path: Path) -> None:
    job = lost(tmp_path)
    Path(job.run_dir, "job.json").write_text(json.dumps({**job.to_dict(), "nonce": "x/../../../../outside"}))
    Path(job.run_dir, "stop.x").mkdir()
    stop(Engine(labels_of(job), Running=True).host, "node0", job.workdir, job.run_id, None, 1, False, DOCKER)
    assert not list(tmp_path.rglob("outside"))
