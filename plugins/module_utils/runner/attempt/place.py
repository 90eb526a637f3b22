# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks of an attempt belong and meet, as variables for their launcher."""

from __future__ import annotations

from ..._records.job import Job

# Launchers that give the ranks no pipes of their own, and report no failed rank.
WITHOUT_TORCHRUN = ("python", "exec")


def place_of(job: Job, number: int) -> dict[str, str]:
    """Return the variables that tell the ranks their place and their meeting point.

    Each attempt has its own port, so that no rank of an earlier one joins; a spare has the ranks of another node.
    torchrun reads its options from PET_* where its command line lacks them (torch/distributed/argparse_util.py).
    """
    port = job.rendezvous.port + number
    host = f"[{job.rendezvous.address}]" if ":" in job.rendezvous.address else job.rendezvous.address
    node_rank = {"NODE_RANK": str(job.node_rank)}
    if job.launcher in WITHOUT_TORCHRUN:
        rank = {"RANK": str(job.first_rank)} if job.launcher == "python" else {}
        return {**node_rank, **rank, "GROUP_RANK": str(job.node_rank), "MASTER_PORT": str(port)}
    if job.launcher == "deepspeed":
        node_rank["CROSS_RANK"] = str(job.node_rank)
    return {**node_rank, "PET_RDZV_ENDPOINT": f"{host}:{port}", "PET_NODE_RANK": str(job.node_rank)}


def report_variables(job: Job, *descriptors: int) -> dict[str, str]:
    """Return what torchrun needs to report by this descriptor, nothing without one."""
    if not descriptors:
        return {}
    grace, lost_after = str(job.abort_grace), str(job.gang.lost_after)
    report = str(descriptors[0])
    return {"MUSTER_REPORT_FD": report, "MUSTER_ABORT_GRACE": grace, "MUSTER_LOST_AFTER": lost_after}
