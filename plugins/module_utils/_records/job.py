# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's part of a run, as plan, module and runner know it.

Keys that are not known are refused, because whoever wrote them meant something by them. The runner
takes this file along.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from .frozen import field, frozen

# What is safe as the name of a directory on every machine; the controller makes run IDs in `_request/run_id.py`.
SAFE_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# What torch says of a rank that wrote no error file (elastic/multiprocessing/errors, _EMPTY_ERROR_DATA).
NO_MESSAGE = "<NONE>"
# The end of the names of variables by which a scheduler or a login chooses GPUs (CUDA_, HIP_, ROCR_, NVIDIA_).
VISIBLE_DEVICES = "_VISIBLE_DEVICES"
# The runtime whose ranks a process of the node starts in an image.
APPTAINER = "apptainer"


def container_name(run_id: str, node_rank: int) -> str:
    return f"muster-{run_id}-{node_rank}"


def open_node_rank(nonce: str) -> str:
    """Return what stands for the node rank in a spare's command and variables: by its nonce never a user's text."""
    return f"<node rank {nonce}>"


@frozen
class Rendezvous:
    """Where the ranks meet: the head's address and the run's port."""

    address: str
    port: int


@frozen
class Variable:
    """A variable of the ranks: its value, where that came from, why, and the row of the decision table (D1 …).

    origin is for people, layer is the same for code (`_findings.origin.Layer`).
    """

    name: str
    value: str
    origin: str
    reason: str
    rule: str = ""
    layer: str = ""

    @property
    def fills_gap(self) -> bool:
        """Whether it is set only where nothing else is: what the ranks inherit and the secrets win over it, too."""
        return self.layer == "default"


@frozen
class JobContainer:
    """The container a job's runner lives in: docker is how Docker is called there, file the compose file by its path.

    python is the interpreter of the runner in the container; by its labels a container is told from a stranger's.
    mounts are files of the node that it gets read-only at their own paths, whether or not the compose file has them.
    """

    docker: list[str]
    file: str
    service: str
    name: str
    python: str
    labels: dict[str, str]
    mounts: list[str] = field(default_factory=list)


@frozen
class SlurmPlace:
    """Where a job's runner is one task of a Slurm step: the Slurm job's ID, and the node's name in Slurm.

    kill_wait is how many seconds Slurm leaves between SIGTERM and SIGKILL when it ends the job, 0 if it is not known.
    """

    job: str
    node: str
    kill_wait: int = 0


@frozen
class GangSettings:
    """How the runners of a run hold together: the head's port for them, lost_after seconds of silence (0: never).

    nodes are the names in node-rank order, the spares behind them; only the head's job has them.
    """

    port: int
    lost_after: int
    max_restarts: int
    nodes: list[str]


@frozen
class TransportProof:
    """What NCCL's own log has to prove of a run over RDMA on several nodes; action: warn or fail.

    gdr: whether GPUDirect RDMA is expected, None where it is not known. hcas are the names of the devices of this node.
    missing: why the log cannot prove it, empty where it can. elsewhere has the values of NCCL's variables that are set
    outside of the launch; None: NCCL does not log what it reads.
    """

    action: str
    gdr: bool | None
    hcas: list[str]
    missing: str = ""
    elsewhere: list[Variable] | None = None


@frozen
class Job:
    """One node's part of a plan, what its runner reads from job.json; times in seconds (0: none), sizes in bytes.

    hang_watch is how long no rank may make a step or print anything before all are looked at; hang_action is what is
    done then: warn, stop or keep. transport: what is proved of the fabric, None for nothing. telemetry: how often the
    node is sampled.

    traceback_grace is how long a rank that has raised an exception may take to end (0: no limit).

    A spare's node_rank is its number behind the nodes (at least nnodes), until it takes one of theirs.
    """

    schema: int
    run_id: str
    nonce: str
    node: str
    node_rank: int
    nnodes: int
    nproc: int
    world_size: int
    first_rank: int
    runtime: str
    launcher: str
    workdir: str
    run_dir: str
    output_dir: str
    code_dir: str
    cwd: str
    checkpoint_dir: str
    slot: str
    rendezvous: Rendezvous
    gang: GangSettings
    argv: list[str]
    environment: list[Variable]
    starter: str
    starter_reason: str
    starter_fallback: str | None
    time_limit: int
    stop_grace: int
    abort_grace: int
    background_wait: int
    join_timeout: int
    disk_wait: int
    log_limit: int
    label: str | None
    created: str
    container: JobContainer | None = None
    metrics_pattern: str | None = None
    notice: str | None = None
    traceback_grace: int = 0
    hang_watch: int = 0
    hang_action: str = "warn"
    transport: TransportProof | None = None
    slurm: SlurmPlace | None = None
    telemetry: int = 0

    @property
    def is_spare(self) -> bool:
        """Whether this node waits for another's rank."""
        return self.node_rank >= self.nnodes

    @property
    def ranks(self) -> range:
        """The ranks of this node, as planned."""
        return range(self.first_rank, self.first_rank + self.nproc)

    @property
    def shares_outputs(self) -> bool:
        """Whether all nodes have one directory of outputs, which is not in the run directory."""
        return self.output_dir != f"{self.run_dir}/outputs"

    def at(self, node_rank: int) -> Job:
        """Return the job with this node rank, with which a spare has other ranks."""
        if node_rank == self.node_rank:
            return self
        mark, rank = open_node_rank(self.nonce), str(node_rank)
        return dataclasses.replace(
            self,
            node_rank=node_rank,
            first_rank=node_rank * self.nproc,
            argv=[word.replace(mark, rank) for word in self.argv],
            environment=[dataclasses.replace(item, value=item.value.replace(mark, rank)) for item in self.environment],
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Job:
        container, transport, slurm = (data.get(name) for name in ("container", "transport", "slurm"))
        nested = {
            "container": None if container is None else JobContainer(**container),
            "slurm": None if slurm is None else SlurmPlace(**slurm),
            "transport": None if transport is None else _proof(transport),
            "rendezvous": Rendezvous(**data["rendezvous"]),
            "gang": GangSettings(**data["gang"]),
            "environment": [Variable(**item) for item in data["environment"]],
        }
        return cls(**{**data, **nested})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _proof(data: dict[str, Any]) -> TransportProof:
    elsewhere = data.get("elsewhere")
    return TransportProof(
        **{**data, "elsewhere": None if elsewhere is None else [Variable(**item) for item in elsewhere]}
    )
