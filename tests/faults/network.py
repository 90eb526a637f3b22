# SPDX-License-Identifier: GPL-3.0-or-later
"""A node is cut off the network: each node has its own network namespace, connected to the others by a switch."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Rendezvous
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.gang import Running
from ansible_collections.muster.train.tests.support.jobs import wait_for

_numbers = itertools.count()


def run_ip(*words: str) -> None:
    """Run `ip`; raise CalledProcessError where it fails."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@functools.cache
def skip_reason() -> str | None:
    """Return why no network can be made here, None where one can."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if os.geteuid() != 0:
        return "only root can make a network"
    try:
        with switched(1):
            return None
    except subprocess.CalledProcessError as error:
        return f"no network namespace can be made: {error.stderr.strip()}"


@dataclass(frozen=True)
class Network:
    """The nodes' namespaces and the switch's, a separate one so that this machine's firewall does not interfere."""

    switch: str
    nodes: list[str]

    def address(self, node: int) -> str:
        """Return a node's address."""
        return f"10.0.0.{node + 1}"

    def cut(self, node: int, silently: bool) -> None:
        """Cut a node off: its port goes down or, silently, stops forwarding."""
        how = ["nomaster"] if silently else ["down"]
        run_ip("-n", self.switch, "link", "set", f"port{node}", *how)

    @contextlib.contextmanager
    def silent(self, node: int) -> Iterator[None]:
        """Cut a node off silently for a while."""
        self.cut(node, silently=True)
        yield
        run_ip("-n", self.switch, "link", "set", f"port{node}", "master", "bridge")


@contextlib.contextmanager
def switched(count: int) -> Iterator[Network]:
    """Yield a network of this many nodes."""
    name = f"muster{os.getpid()}x{next(_numbers)}"
    network = Network(f"{name}-switch", [f"{name}-{node}" for node in range(count)])
    with contextlib.ExitStack() as stack:
        for namespace in (network.switch, *network.nodes):
            run_ip("netns", "add", namespace)
            stack.callback(run_ip, "netns", "delete", namespace)
        run_ip("-n", network.switch, "link", "add", "bridge", "type", "bridge")
        run_ip("-n", network.switch, "link", "set", "bridge", "up")
        for node, namespace in enumerate(network.nodes):
            port = f"port{node}"
            run_ip(
                "-n", network.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace
            )
            run_ip("-n", network.switch, "link", "set", port, "master", "bridge", "up")
            run_ip("-n", namespace, "address", "add", f"{network.address(node)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run_ip("-n", namespace, "link", "set", device, "up")
        yield network


def cut_off(head: bool) -> Callable[[Path, random.Random], float]:
    """Return the fault that a node cannot reach the others; the seconds are until all nodes have ended."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = 0 if head else turn.randrange(1, gangs.NODES)
        with apart(gangs.make(home)) as (running, network):
            gangs.settle(running, turn)
            began = time.monotonic()
            network.cut(bad, silently=turn.random() < 0.5)
            seconds = gangs.wait_for_end(running, began)
            # A head that hears no other node cannot know that it was cut off itself.
            gangs.check(running, ["lost"], None if head else bad)
            return seconds

    return fault


def cut_off_shortly(home: Path, turn: random.Random) -> float:
    """A node cannot reach the others for less than `lost_after`: the run continues."""
    bad = turn.randrange(gangs.NODES)
    with apart(gangs.make(home)) as (running, network):
        gangs.settle(running, turn)
        return gangs.outlast(running, turn, network.silent(bad))


@contextlib.contextmanager
def apart(running: Running) -> Iterator[tuple[Running, Network]]:
    """Start a gang whose nodes have separate network namespaces."""
    with switched(len(running.jobs)) as network:
        head_at = network.address(0)
        running.jobs[:] = [replace(job, rendezvous=Rendezvous(head_at, job.rendezvous.port)) for job in running.jobs]
        running.inside = {rank: ["ip", "netns", "exec", name] for rank, name in enumerate(network.nodes)}
        with gangs.started(running):
            yield running, network


def replaced(home: Path, turn: random.Random) -> float:
    """A node whose ranks ignore SIGTERM is cut off; the seconds are those until a spare takes its ranks.

    They must not start before the node's ranks have ended: two processes of one rank would write one checkpoint.
    """
    bad, spare = turn.randrange(1, gangs.NODES), gangs.NODES
    with apart(gangs.with_spare(home, [bad])) as (running, network):
        gangs.wait_for_spare(running)
        time.sleep(turn.random() * gangs.LOST_S)
        began = time.monotonic()
        network.cut(bad, silently=True)
        wait_for(lambda: gangs.ranks(running, spare), "the spare has ranks", gangs.PATIENCE_S)
        seconds = time.monotonic() - began
        left = gangs.ranks(running, bad)
        assert not left, f"node{bad} still has the ranks {sorted(left)}"
        wait_for(lambda: gangs.ranks_run(running, [spare]), "all the spare's ranks run", gangs.PATIENCE_S)
        gangs.request_stop(running, 0)
        gangs.wait_for_end(running, began)
        gangs.check(running, ["stopped"])
        return seconds
