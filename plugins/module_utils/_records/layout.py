# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Muster keeps its files below a work directory: one directory per node, so that nodes may share it."""

from __future__ import annotations

import hashlib
import os
import re

UNSAFE = re.compile(r"^\.|[^A-Za-z0-9_.-]")
# In a run's directory, all written by its runner; the last one on the head only.
STATE = "state.json"
HEARTBEAT = "heartbeat.json"
NODES = "nodes.json"
# In it too: what the Python processes of the run import at their start. An archive, as they would write bytecode into a
# directory, which in a container is another user's.
SITE = "site.zip"
# In it too, only where a run stood still: stacks, recorded collectives and what the GPUs did.
HANGS = "hangs"
# In it too: samples of what the node does while the ranks run.
TELEMETRY = "telemetry.jsonl"
# In it too: what the launcher and the ranks print, and what NCCL logs of each process (%h and %p are its own words).
LOGS = "logs"
NCCL_LOG = "nccl.%h.%p.log"
# Of the 255 bytes that file systems allow.
LONGEST = 200


def safe_name(node: str) -> str:
    """Return an inventory name as one name of a path: +XX for every byte that is not safe there, never two alike."""
    name = UNSAFE.sub(lambda match: "".join(f"+{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass")), node)
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST // 2]}+{hashlib.sha256(name.encode()).hexdigest()}"


def node_dir(workdir: str, node: str) -> str:
    """Return the directory of one node; only this node writes in it."""
    return os.path.join(workdir, ".muster", "nodes", safe_name(node))


def runs_dir(workdir: str, node: str) -> str:
    return os.path.join(node_dir(workdir, node), "runs")


def run_dir(workdir: str, node: str, run_id: str) -> str:
    return os.path.join(runs_dir(workdir, node), run_id)


def step_command(run_dir: str, nonce: str) -> str:
    """Return the file with the runner's command line, for which the task of a Slurm step waits."""
    return os.path.join(run_dir, f"command.{nonce}")


def slots_dir(workdir: str, node: str) -> str:
    return os.path.join(node_dir(workdir, node), "slots")


def parents(workdir: str, node: str) -> list[str]:
    """Return the directories from the work directory down to a node's own, outermost first."""
    top = os.path.join(workdir, ".muster")
    return [top, os.path.join(top, "nodes"), node_dir(workdir, node)]
