# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm cluster of the tests' own: a head and four nodes with GPUs that are not real, all on this machine.

Each has a network and a host name of its own, and all share the files. What a step started ends with the step, as the
control groups of a real cluster have it (proctrack/cgroup). None of them can be reached from outside.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.jobs import wait_for

NODES = ("gpu01", "gpu02", "gpu03", "gpu04")
HEAD = "head"
ADDRESSES = {HEAD: "10.77.0.1", **{name: f"10.77.0.{10 + number}" for number, name in enumerate(NODES, 1)}}
GPUS = 2
KILL_WAIT_S = 20
# What a job gets that one of the partition `urgent` preempts.
GRACE_S = 30
PROGRAMS = ("slurmctld", "slurmd", "srun", "scontrol", "squeue", "munged", "unshare", "nsenter", "ip")
# Where Slurm looks for the control groups that end a step; it makes one of its own there for each node.
FREEZER = Path("/sys/fs/cgroup/freezer")
CONFIG = """\
ClusterName=muster
SlurmctldHost=head(10.77.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={base}/munge.socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=2
ReturnToService=2
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool.%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.%n.log
SlurmdParameters=config_overrides
SlurmctldTimeout=60
SlurmdTimeout=60
KillWait={kill_wait}
InactiveLimit=0
MinJobAge=120
PropagateResourceLimitsExcept=MEMLOCK
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=DEFAULT CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1
NodeName=DEFAULT RealMemory=4000 State=UNKNOWN Gres=gpu:h100:{gpus}
{nodes}
PartitionName=gpu Nodes=gpu[01-04] Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime={grace}
PartitionName=urgent Nodes=gpu[01-04] MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""
CGROUPS = "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n"


def missing() -> str | None:
    """Return why there can be no cluster here."""
    absent = [name for name in PROGRAMS if _path(name) is None]
    if absent:
        return f"{', '.join(absent)} not found: apt install slurm-wlm munge iproute2 util-linux"
    if os.geteuid() != 0:
        return "only root may make networks"
    return (
        None if FREEZER.is_dir() else f"{FREEZER} does not exist: the cluster's control groups are those of version 1"
    )


@dataclass
class SlurmCluster:
    """A running cluster; its files are in `base`, a short path."""

    base: Path
    places: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user of the cluster."""
        return {"SLURM_CONF": str(self.base / "slurm.conf")}

    def inside(self, place: str, directory: str | Path = "/") -> list[str]:
        """Return the words that let a command run on the head, or on a node, in a directory."""
        namespaces = ["--net", "--uts", "--mount", f"--wd={directory}"]
        return ["nsenter", "--target", str(self.places[place].pid), *namespaces, "--"]

    def run(self, *argv: str, place: str = HEAD, extra: Mapping[str, str] | None = None) -> str:
        """Run a command on the head; return what it prints."""
        environment = {**os.environ, **self.environment, **(extra or {})}
        done = subprocess.run(
            [*self.inside(place), *argv], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def allocate(self, *options: str) -> str:
        """Allocate nodes to a job that does nothing but wait; return its number when it runs."""
        job = self.submit(*options)
        wait_for(lambda: self.state(job) == "RUNNING", f"job {job} runs")
        return job

    def submit(self, *options: str) -> str:
        """Put such a job into the queue; return its number."""
        script = self.base / "wait.sh"
        script.write_text("#!/bin/sh\nexec sleep infinity\n")
        words = ["--parsable", "--output=/dev/null", f"--chdir={self.base}", "--no-kill", *options, str(script)]
        return self.run("sbatch", *words).strip()

    def state(self, job: str) -> str:
        """Return the state of a job, in Slurm's word."""
        return self.run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").strip()

    def cancel(self, job: str) -> None:
        self.run("scancel", job)
        wait_for(lambda: self.state(job) in ("CANCELLED", "COMPLETED", "TIMEOUT", "FAILED"), f"job {job} has ended")

    def end(self) -> None:
        """End everything of the cluster."""
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self.run("scancel", "--user=root")
            wait_for(lambda: not self.run("squeue", "--noheader").strip(), "no job is left")
        for daemon in self.daemons.values():
            left = process_tree.descendants(daemon.pid)
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            for process in left:
                process_tree.send(process, signal.SIGKILL)
        for daemon in [*self.daemons.values(), *self.places.values()]:
            daemon.kill()
            daemon.wait(10)
        # Which a step that was killed leaves.
        for folder in sorted(
            (path for top in FREEZER.parent.glob("*/slurm_gpu0*") for path in _folders(top)), reverse=True
        ):
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def running(base: Path) -> Iterator[SlurmCluster]:
    """Run a cluster whose files are in `base`."""
    cluster = SlurmCluster(base)
    try:
        _write(base)
        for place in (HEAD, *NODES):
            cluster.places[place] = _place(base, place)
        _connect(cluster)
        _start(cluster)
        yield cluster
    finally:
        cluster.end()


def _write(base: Path) -> None:
    for folder in ("state", "gpus", *(f"spool.{name}" for name in NODES)):
        (base / folder).mkdir(mode=0o755)
    for number in range(GPUS):
        os.mknod(base / "gpus" / f"nvidia{number}", 0o666 | 0o020000, os.makedev(1, 3))
    nodes = "\n".join(f"NodeName={name} NodeAddr={ADDRESSES[name]} Port=17000" for name in NODES)
    (base / "slurm.conf").write_text(
        CONFIG.format(base=base, nodes=nodes, gpus=GPUS, kill_wait=KILL_WAIT_S, grace=GRACE_S)
    )
    (base / "cgroup.conf").write_text(CGROUPS)
    (base / "gres.conf").write_text(f"NodeName=gpu[01-04] Name=gpu Type=h100 File={base}/gpus/nvidia[0-{GPUS - 1}]\n")
    names = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
    (base / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
    (base / "munge.key").write_bytes(os.urandom(1024))
    (base / "munge.key").chmod(0o600)


def _place(base: Path, name: str) -> subprocess.Popen[bytes]:
    """Make a host: a network, a host name and /etc/hosts of its own."""
    ready = base / f"{name}.ready"
    script = (
        f"mount --bind {base}/hosts /etc/hosts && hostname {name} && ip link set lo up && touch {ready} "
        "&& exec sleep infinity"
    )
    words = ["unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c", script]
    place = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    wait_for(ready.exists, f"the host {name} is there")
    return place


def _connect(cluster: SlurmCluster) -> None:
    cluster.run("ip", "link", "add", "br0", "type", "bridge")
    cluster.run("ip", "addr", "add", f"{ADDRESSES[HEAD]}/24", "dev", "br0")
    cluster.run("ip", "link", "set", "br0", "up")
    for number, name in enumerate(NODES):
        peer = ["type", "veth", "peer", "name", "eth0", "netns", str(cluster.places[name].pid)]
        cluster.run("ip", "link", "add", f"v{number}", *peer)
        cluster.run("ip", "link", "set", f"v{number}", "master", "br0", "up")
        cluster.run("ip", "addr", "add", f"{ADDRESSES[name]}/24", "dev", "eth0", place=name)
        cluster.run("ip", "link", "set", "eth0", "up", place=name)
        cluster.run("ip", "route", "add", "default", "via", ADDRESSES[HEAD], place=name)


def _start(cluster: SlurmCluster) -> None:
    base = cluster.base
    munge = ["--foreground", "--force", f"--key-file={base}/munge.key", f"--socket={base}/munge.socket"]
    munge += [f"--pid-file={base}/munge.pid", f"--log-file={base}/munge.log", f"--seed-file={base}/munge.seed"]
    _daemon(cluster, "munged", HEAD, ["munged", *munge])
    wait_for((base / "munge.socket").exists, "munged listens")
    _daemon(cluster, "slurmctld", HEAD, ["slurmctld", "-D"])
    for name in NODES:
        _daemon(cluster, name, name, ["slurmd", "-D", "-N", name])
    idle = str(len(NODES))
    wait_for(lambda: idle in _try(cluster, "sinfo", "--noheader", "--states=idle", "--format=%D"), "the nodes are idle")


def _daemon(cluster: SlurmCluster, name: str, place: str, argv: Sequence[str]) -> None:
    program = [str(_path(argv[0])), *argv[1:]]
    with (cluster.base / f"{name}.out").open("wb") as output:
        cluster.daemons[name] = subprocess.Popen(
            [*cluster.inside(place), *program],
            env={**os.environ, **cluster.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _try(cluster: SlurmCluster, *argv: str) -> str:
    try:
        return cluster.run(*argv)
    except AssertionError:
        time.sleep(0.1)
        return ""


def _folders(top: Path) -> Iterator[Path]:
    yield top
    yield from (path for path in top.rglob("*") if path.is_dir())


def _path(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin")))
