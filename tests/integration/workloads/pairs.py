# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks of `pairs`, one in each network namespace: `pairs.py OUTPUT HEAD PORT NAMESPACES ARGUMENT...`.

torch is imported once for all of them. A process of its own has the store, as torchrun's agent has otherwise.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner.pairs import program

CLONE_NEWNET = 0x40000000
STORE = -1
DIST: Any = importlib.import_module("torch.distributed")


def be_rank(rank: int, namespaces: list[str], head: str, port: str) -> None:
    """Enter the namespace of a rank, with what torchrun tells it."""
    descriptor = os.open(f"/run/netns/{namespaces[rank]}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    known = {"RANK": rank, "WORLD_SIZE": len(namespaces), "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in known.items()})
    os.environ.update(MASTER_ADDR=head, GLOO_SOCKET_IFNAME="eth0")


def main(output: str, head: str, port: str, joined: str, *arguments: str) -> int:
    """Start the store and all ranks, and return the worst of their exit codes."""
    namespaces, argv = joined.split(","), ["--output", output, "--backend", "gloo", *arguments]
    children = []
    for rank in (STORE, *range(len(namespaces))):
        child = os.fork()
        if child == 0:
            be_rank(max(0, rank), namespaces, head, port)
            if rank == STORE:
                store = DIST.TCPStore("0.0.0.0", int(port), is_master=True, wait_for_workers=False)
                signal.pause()
                del store
            os._exit(program.main(argv))
        children.append(child)
    store_process, *ranks = children
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in ranks]
    os.kill(store_process, signal.SIGKILL)
    os.waitpid(store_process, 0)
    return max(map(abs, codes))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
