# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Slurm cluster of four nodes that are reached by srun only: launches, their ends, and other shells."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.plugin_utils._slurm.host_list import expand_host_list
from ansible_collections.muster.train.tests.support import slurm_cluster
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import ROOT, Played, run_to_end
from ansible_collections.muster.train.tests.support.slurm_cluster import NODES, SlurmCluster
from ansible_collections.muster.train.tests.support.slurm_nodes import LONG, SlurmNodes

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]
# One rank on each node without torchrun, where a test is not about the ranks.
LIGHT: dict[str, Any] = {"launcher": "python", "nproc": 1}
ALL = "--nodes=4", "--gpus-per-node=2", "--exclusive"


@pytest.fixture
def nodes(slurm: SlurmCluster, tmp_path: Path) -> Iterator[SlurmNodes]:
    """The four nodes of an allocation without a time limit."""
    job = slurm.allocate(*ALL)
    made = SlurmNodes(tmp_path, slurm=slurm, job=job)
    yield made
    slurm.cancel(job)
    made.destroy()


def random_list(rng: random.Random) -> str:
    """Return a list of hosts as a person may write it, or Slurm."""

    def numbers() -> str:
        width, begin = rng.randint(1, 4), rng.randint(0, 120)
        end = begin + rng.randint(0, 12)
        return f"{begin:0{width}d}" if rng.random() < 0.3 else f"{begin:0{width}d}-{end:0{width}d}"

    def host() -> str:
        prefix = rng.choice(["n", "gpu", "rack-1-node", "a1b"])
        brackets = "".join(
            f"[{','.join(numbers() for _part in range(rng.randint(1, 3)))}]" for _bracket in range(rng.randint(0, 2))
        )
        return f"{prefix}{brackets}" if brackets else f"{prefix}{rng.randint(0, 99):02d}"

    return ",".join(host() for _host in range(rng.randint(1, 3)))


def test_lists_of_hosts_are_expanded_as_scontrol_does(slurm: SlurmCluster) -> None:
    rng = random.Random(19)
    for _case in range(300):
        text = random_list(rng)
        assert expand_host_list(text) == slurm.run("scontrol", "show", "hostnames", text).split(), text


def test_files_arrive_and_return_whole(nodes: SlurmNodes) -> None:
    blob = os.urandom(3_000_000)
    (nodes.home / "sent").write_bytes(blob)

    def ask(module: str, arguments: str) -> Played:
        words = [sys.executable, "-m", "ansible", "adhoc", "gpu02,gpu03", "-i", str(nodes.inventory), "-m", module]
        command = [*nodes.slurm.inside(nodes.place, ROOT), *words, "-a", arguments]
        return run_to_end(command, nodes.environment())

    target = f"{nodes.home}/arrived '{{{{ inventory_hostname }}}}'"
    assert ask("ansible.builtin.copy", f'src={nodes.home}/sent dest="{target}"').rc == 0
    assert ask("ansible.builtin.fetch", f'src="{target}" dest={nodes.home}/returned').rc == 0
    returned = [path for path in (nodes.home / "returned").rglob("*") if path.is_file()]
    assert [path.read_bytes() == blob for path in returned] == [True, True]
    failed = ask("ansible.builtin.raw", "hostname; echo mine >&2; exit 7")
    assert all(text in failed.out for text in ("gpu02 | FAILED | rc=7", "gpu03 | FAILED | rc=7", "mine"))
    assert "Exited with exit code" not in failed.out


def test_a_launch_in_an_allocation(nodes: SlurmNodes) -> None:
    done = nodes.launch(follow=True)
    assert done.rc == 0, done.out
    plan = json.loads((nodes.experiments / RUN_ID / "plan.json").read_text())
    assert (plan["nodes"], plan["world_size"]) == (list(NODES), 8)
    assert {job["starter"] for job in plan["jobs"].values()} == {"slurm"}
    assert [job["slurm"] for job in plan["jobs"].values()] == [
        {"job": nodes.job, "node": name, "kill_wait": slurm_cluster.KILL_WAIT_S} for name in NODES
    ]
    assert nodes.record()["verdict"] == "succeeded"
    assert nodes.record()["exit_codes"] == dict.fromkeys(NODES, 0)
    assert nodes.processes() == []
    wait_for(lambda: nodes.steps() == [], "the step has ended")
    assert nodes.slurm.state(nodes.job) == "RUNNING"


def test_the_runs_of_a_sweep_have_one_allocation(nodes: SlurmNodes) -> None:
    done = nodes.verb("sweep", sweep={"env.A": ["1", "2"]}, **LIGHT)
    assert done.rc == 0, done.out
    plans = [json.loads(path.read_text()) for path in nodes.experiments.glob("sweep_*/sleeper_*/plan.json")]
    assert [{job["slurm"]["job"] for job in plan["jobs"].values()} for plan in plans] == [{nodes.job}] * 2


def test_a_rank_that_fails_stops_all_nodes(nodes: SlurmNodes) -> None:
    done = nodes.launch(follow=True, script_args=["--seconds", "60", "--fail-rank", "5", "--how", "exit7"])
    assert done.rc != 0
    record = nodes.record()
    assert record["verdict"] == "failed"
    assert (record["cause"]["node"], record["cause"]["rank"], record["cause"]["exit_code"]) == ("gpu03", 5, 7)
    assert nodes.processes() == []
    assert nodes.slurm.state(nodes.job) == "RUNNING"


def test_stop_ends_the_run_and_not_the_allocation(nodes: SlurmNodes) -> None:
    assert nodes.launch(**LIGHT, **LONG).rc == 0
    stopped = nodes.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert {nodes.state(name)["phase"] for name in NODES} == {"stopped"}
    assert nodes.processes() == []
    wait_for(lambda: nodes.steps() == [], "the step has ended")
    assert nodes.slurm.state(nodes.job) == "RUNNING"


def test_scancel_stops_the_run_with_a_verdict(nodes: SlurmNodes) -> None:
    assert nodes.launch(**LIGHT, **LONG).rc == 0
    nodes.slurm.cancel(nodes.job)
    states = [nodes.state(name) for name in NODES]
    assert {state["phase"] for state in states} == {"stopped"}
    assert nodes.processes() == []
    # No step runs on the nodes of a job that has ended, but what is left lies on files that all share.
    collected = nodes.verb("collect", run_id=RUN_ID)
    assert collected.rc != 0
    read = nodes.play("playbooks/collect.yml", "-e", f"run_id={RUN_ID}", MUSTER_SLURM_CONNECTION="local")
    assert nodes.record()["verdict"] == "stopped", read.out
    assert f"job {nodes.job}" in nodes.record()["why"]


def test_a_run_outlives_the_shell_that_launched_it(nodes: SlurmNodes) -> None:
    shell = nodes.begin("launch", follow=True, **LIGHT, script_args=["--seconds", "25"])
    nodes.wait_phase(RUN_ID, "running")
    # As the end of the user's session on the login node: first the launch, then whatever it has left there.
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    for process in nodes.sruns():
        process_tree.send(process, signal.SIGTERM)
    status = nodes.verb("status", run_id=RUN_ID)
    assert status.rc == 0, status.out
    assert all(f"{name} " in status.out for name in NODES)
    logs = nodes.verb("logs", run_id=RUN_ID, lines=50)
    assert "gpu04/rank3 | rank 3 of 4 begins" in logs.out
    nodes.wait_phase(RUN_ID, "succeeded")
    assert nodes.verb("collect", run_id=RUN_ID).rc == 0
    assert nodes.record()["verdict"] == "succeeded"


def test_a_node_that_is_lost_ends_the_run_on_all_others(nodes: SlurmNodes) -> None:
    nodes.policy["launch_lost_after"] = 6
    nodes.write()
    assert nodes.launch(**LIGHT, **LONG).rc == 0
    link = ["ip", "link", "set", "v3"]
    nodes.slurm.run(*link, "down")
    try:
        wait_for(lambda: all(nodes.state(name)["phase"] in ENDED for name in NODES), "every node has ended", 60)
    finally:
        nodes.slurm.run(*link, "up")
    wait_for(lambda: nodes.processes() == [], "no process is left")
    nodes.verb("collect", run_id=RUN_ID)
    assert nodes.record()["verdict"] == "lost"
    assert "gpu04" in nodes.record()["why"]
    assert nodes.slurm.state(nodes.job) == "RUNNING"


def test_a_job_that_waits_has_no_nodes(nodes: SlurmNodes) -> None:
    waiting = nodes.slurm.submit(*ALL)
    done = nodes.play("playbooks/launch.yml", MUSTER_SLURM_JOB_ID=waiting)
    nodes.slurm.cancel(waiting)
    assert done.rc != 0
    assert f"job {waiting} has no nodes yet" in done.words


def test_a_run_ends_before_its_allocation(slurm: SlurmCluster, tmp_path: Path) -> None:
    job = slurm.allocate(*ALL, "--time=5")
    short = SlurmNodes(tmp_path, slurm=slurm, job=job)
    options = ["--check", "-e", "output=json"]
    brief = {"ANSIBLE_STDOUT_CALLBACK": "muster.train.brief"}
    done = run_to_end(short.command("playbooks/launch.yml", *options), short.environment(**brief), apart=True)
    slurm.cancel(job)
    plan = json.loads(done.out)["plan"]
    assert 0 < plan["jobs"]["gpu01"]["time_limit"] < 240
    assert plan["parameters"]["time_limit"]["layer"] == "cluster"


def test_a_shell_in_a_step_is_no_node_of_its_job(nodes: SlurmNodes) -> None:
    """As by `srun --pty`, with an inventory of the machine itself."""
    home = nodes.home / "local"
    home.mkdir()
    local = Cluster(home, names=["node0"])
    local.policy["launch_defaults"] = {"script": "sleeper.py", "nproc": 2}
    local.write()
    step = ["srun", f"--jobid={nodes.job}", "--overlap", "--nodes=1", "--ntasks=1", f"--chdir={ROOT}"]
    options = ["--check", "-e", "output=json"]
    environment = {**local.environment(ANSIBLE_STDOUT_CALLBACK="muster.train.brief"), **nodes.slurm.environment}
    command = [*nodes.slurm.inside(nodes.place, ROOT), *step, *local.command("playbooks/launch.yml", *options)]
    done = run_to_end(command, environment, apart=True)
    assert {job["starter"] for job in json.loads(done.out)["plan"]["jobs"].values()} == {"setsid"}, done.err


def test_a_step_that_slurm_refuses_starts_nothing(nodes: SlurmNodes) -> None:
    """As where a node is drained or has gone between the facts and the start: here srun itself is another program."""
    folder = nodes.home / "bin"
    folder.mkdir()
    refusing = folder / "srun"
    refusing.write_text(
        "#!/bin/sh\ncase \"$*\" in *--job-name=muster-*) echo 'srun: error: Unable to create step' >&2; exit 1;; esac\n"
        'exec /usr/bin/srun "$@"\n'
    )
    refusing.chmod(0o755)
    done = nodes.play("playbooks/launch.yml", PATH=f"{folder}:{os.environ['PATH']}")
    assert done.rc != 0
    assert "Unable to create step" in done.words
    assert nodes.processes() == []


def changed_fields(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each value that differs between two documents."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted({*first, *second}):
            name = "*" if key in NODES else str(key)
            yield from changed_fields(first.get(key), second.get(key), f"{path}.{name}" if path else name)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for left, right in zip(first, second, strict=True):
            yield from changed_fields(left, right, f"{path}[]")
    elif first != second:
        yield path


class LocalNodes(Cluster):
    """The nodes of an allocation without Slurm: the local connection, with an interpreter that is on the node."""

    def __init__(self, home: Path, allocation: SlurmNodes) -> None:
        self._prefix = allocation.slurm.inside(allocation.place, ROOT)
        home.mkdir()
        for name in NODES:
            python = home / f"python-{name}"
            python.write_text(f'#!/bin/sh\nexec {shlex.join(allocation.slurm.inside(name))} {sys.executable} "$@"\n')
            python.chmod(0o755)
        interpreters = {name: {"ansible_python_interpreter": str(home / f"python-{name}")} for name in NODES}
        super().__init__(home, names=list(NODES), per_node=interpreters)
        self.policy["launch_defaults"] = {"script": "sleeper.py", "nproc": 2}
        del self.policy["launch_head_address"]
        self.write()

    def command(self, playbook: str, *extra: str) -> list[str]:
        return [*self._prefix, *super().command(playbook, *extra)]


# How the nodes are reached, and when it was: of the plan, and of the record of the experiment.
PLANNED = {"cluster", "command", "options[]", "created", "jobs.*.created"}
PLANNED |= {"jobs.*.starter", "jobs.*.starter_reason", "jobs.*.slurm"}
RECORDED = {"cluster", "command", "options[]", "created", "started", "ended", "elapsed_s", "nonce"}
RECORDED |= {"first_step", "last_step"}


def test_the_plan_and_the_experiment_are_those_of_any_other_connection(slurm: SlurmCluster, tmp_path: Path) -> None:
    # Without GPUs, which Slurm names in the environment, and without an end.
    job = slurm.allocate("--nodes=4", "--exclusive", "--time=UNLIMITED")
    nodes = SlurmNodes(tmp_path, slurm=slurm, job=job)
    clusters: tuple[Cluster, ...] = (nodes, LocalNodes(tmp_path / "local", nodes))
    documents = []
    for cluster in clusters:
        done = cluster.launch(follow=True, master_port=20500, **LIGHT)
        assert done.rc == 0, done.out
        folder = cluster.experiments / RUN_ID
        plan = json.loads((folder / "plan.json").read_text().replace(str(cluster.home), "HOME"))
        plan = json.loads(json.dumps(plan).replace(plan.pop("nonce"), "NONCE"))
        record = yaml.safe_load((folder / "run.yml").read_text().replace(str(cluster.home), "HOME"))
        documents.append((plan, record))
    slurm.cancel(job)
    (plan, record), (local_plan, local_record) = documents
    assert set(changed_fields(plan, local_plan)) == PLANNED
    assert set(changed_fields(record, local_record)) <= RECORDED
