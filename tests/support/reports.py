# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes know of a run that goes on or that failed."""

from __future__ import annotations

from typing import Any

RUN_ID = "multinode_42ch_autoth_20261120_143052"
PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:1"
TRAP = "{{ lookup('ansible.builtin.pipe', 'touch evaluated') }}"


def info(node: str, phase: str, **more: Any) -> dict[str, Any]:
    rank = int(node[-1])
    run: dict[str, Any] = {"node": node, "node_rank": rank, "run_id": RUN_ID, "phase": phase, "why": None, "nproc": 2}
    run.update(world_size=4, first_rank=2 * rank, elapsed_s=31.0, first=None, log_tail=[], run_dir=f"/w{rank}")
    return {"launch__info": {"run": {**run, **more}, "runs": [], "log": []}}


def failing() -> dict[str, Any]:
    peer = {"rank": 0, "local_rank": 0, "exit_code": 1, "signal": None, "message": PEER, "time": 1.0}
    first: dict[str, Any] = {"rank": 3, "exit_code": None, "signal": "SIGSEGV", "message": "<NONE>", "time": 2.0}
    first["log_tail"] = ["Fatal Python error: Segmentation fault", TRAP]
    return {"node0": info("node0", "failed", first=peer), "node1": info("node1", "failed", first=first)}
