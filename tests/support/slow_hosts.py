# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts as network namespaces on one bridge, and faults of one host's network that the kernel makes.

A kernel may have no netem, so they are made by other means: a rate by tbf, lost packets and a hole for large ones by
iptables, a small MTU by ip, and a delay by `delay_line.py`, through which the host sends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NETWORK = "10.231.77"
FAULTS = ("delay", "rate", "loss", "mtu", "hole")
DELAY_LINE = Path(__file__).with_name("delay_line.py")


def why_not() -> str | None:
    """Why there can be no such hosts here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"muster-try-{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"network namespaces cannot be made: {error}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


def address(host: int) -> str:
    """Return the address of a host, from 0 on."""
    return f"{NETWORK}.{host + 1}"


@contextmanager
def hosts(count: int) -> Iterator[list[str]]:
    """Make hosts that reach each other and nothing else; yield the names of their namespaces."""
    hub, names = f"muster-hub-{os.getpid()}", [f"muster-h{host}-{os.getpid()}" for host in range(count)]
    with ExitStack() as made:
        for name in (hub, *names):
            _run("ip", "netns", "add", name)
            made.callback(_run, "ip", "netns", "del", name)
        _run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", hub, "link", "set", "bridge", "up")
        for host, name in enumerate(names):
            pair = ["eth0", "netns", name, "type", "veth", "peer", "name", f"port{host}", "netns", hub]
            _run("ip", "link", "add", *pair)
            _run("ip", "-n", hub, "link", "set", f"port{host}", "master", "bridge", "up")
            _run("ip", "-n", name, "address", "add", f"{address(host)}/24", "dev", "eth0")
            for interface in ("lo", "eth0"):
                _run("ip", "-n", name, "link", "set", interface, "up")
        yield names


@contextmanager
def fault(enter: list[str], kind: str, interface: str = "eth0", network: str = f"{NETWORK}.0/24") -> Iterator[None]:
    """Slow or break the network of the host that `enter` enters, as long as the context lasts."""
    qdisc = ["tc", "qdisc", "add", "dev", interface, "root"]
    drop = ["iptables", "-A", "INPUT", "-i", interface, "-j", "DROP", "-m"]
    mtu = ["ip", "link", "set", interface, "mtu"]
    commands: dict[str, tuple[list[str], list[str]]] = {
        "rate": ([*qdisc, "tbf", "rate", "100mbit", "burst", "64k", "latency", "50ms"], _undone(qdisc, "add", "del")),
        "loss": (lost := [*drop, "statistic", "--mode", "random", "--probability", "0.02"], _undone(lost, "-A", "-D")),
        "mtu": ([*mtu, "600"], [*mtu, "1500"]),
        "hole": (large := [*drop, "length", "--length", "1000:65535"], _undone(large, "-A", "-D")),
    }
    if kind == "delay":
        line = subprocess.Popen(
            [*enter, sys.executable, str(DELAY_LINE), interface, network, "0.005"], stdout=subprocess.PIPE, text=True
        )
        assert line.stdout is not None
        try:
            assert line.stdout.readline() == "ready\n"
            yield
        finally:
            line.terminate()
            line.wait()
            line.stdout.close()
        return
    begin, end = commands[kind]
    _run(*enter, *begin)
    try:
        yield
    finally:
        _run(*enter, *end)


def _undone(words: list[str], done: str, undone: str) -> list[str]:
    return [undone if word == done else word for word in words]


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
