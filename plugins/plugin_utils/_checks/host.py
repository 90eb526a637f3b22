# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits, disks, memory, clock and names of a node."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._records.system import Disk

from .._cluster import starter
from .._cluster.node import Node
from .._cluster.peers import usual
from .comparison import ranks_ports
from .model import PROFILE, Cluster, Looks, Seen, fine, skip, unknown
from .properties import MEMLOCK

GIB = 1 << 30
UNLIMITED = "unlimited"
TMP = "/tmp"  # what it is, not where a file is made


def memlock(node: Node, cluster: Cluster) -> Seen:
    """Find nodes whose ranks may lock less memory than RDMA needs."""
    wanted = cluster.expected.get("memlock")
    if cluster.policy.runtime != "host":
        return skip("the ranks run in containers, whose limit is the engine's")
    if wanted is None and not ranks_ports(node, cluster):
        return skip("there is no usable RDMA port, which alone needs locked memory")
    seen = MEMLOCK.of(node, cluster)
    if seen is None:
        return unknown("the limits cannot be read", "limits")
    if starter.choose(cluster.policy.starter, node.facts).name == starter.SYSTEM_UNIT:
        return skip(f"{seen} here, but a run gets a system unit, which raises it")
    expected = str(wanted) if wanted is not None else UNLIMITED
    own, least = (_bytes(value) for value in (seen, expected))
    source = f"{PROFILE}.memlock" if wanted is not None else "NCCL registers its buffers (ibv_reg_mr)"
    if own >= least:
        return fine(seen, source, expected)
    remedy = "ansible-playbook muster.train.setup raises it (role memlock); log in again"
    return Seen("fail", seen, expected, source, remedy)


def _bytes(text: str) -> float:
    number = text.split(" ")[0]
    return float(number) if number.isdigit() else float("inf")


def disks(node: Node, cluster: Cluster) -> Iterator[Seen]:
    """Find full, read-only or broken file systems that a run writes to."""
    if node.facts.disks is None:
        yield unknown("nobody could look at the file systems", "disk")
        return
    # The first is the work directory's (`node_facts` asks in that order). Code and data may be read-only.
    for number, disk in enumerate(node.facts.disks):
        if number == 0 or disk.path == TMP:
            yield _disk(disk, cluster)


def _disk(disk: Disk, cluster: Cluster) -> Seen:
    where = f"{disk.path} ({disk.mount_point or 'mount not known'})"
    free_up = f"free space on {disk.mount_point or disk.path}, or set launch_workdir to another disk"
    if disk.read_only:
        return Seen(
            "fail",
            f"{where} is mounted read-only",
            "a file system that can be written",
            "mountinfo",
            "look at dmesg for errors of the disk; mount it again",
        )
    full = _full(disk, where, cluster, free_up)
    if full is not None and full.status == "fail":
        return full
    if disk.writable is False:
        return Seen(
            "fail",
            f"{where}: {disk.write_error or 'a file cannot be written'}",
            "a file can be written",
            "a file of 1 block, written, synced and removed",
            "correct owner and mode, or " + free_up,
        )
    if full is not None:
        return full
    if disk.size_bytes is None or disk.free_bytes is None:
        return unknown(f"{where}: its size is not known", "disk")
    return fine(f"{where}: {disk.free_bytes / GIB:.0f} GiB free", cluster.thresholds.source("disk_warn"))


def _full(disk: Disk, where: str, cluster: Cluster, remedy: str) -> Seen | None:
    limits = cluster.thresholds
    if disk.free_inodes is not None and disk.free_inodes < limits.value("inodes_fail"):
        expected = f"at least {limits.value('inodes_fail'):g} files more"
        return Seen(
            "fail", f"{where}: room for {disk.free_inodes} files", expected, limits.source("inodes_fail"), remedy
        )
    if not disk.size_bytes or disk.free_bytes is None:
        return None
    used = 100 * (1 - disk.free_bytes / disk.size_bytes)
    for name, status in (("disk_fail", "fail"), ("disk_warn", "warn")):
        if used >= limits.value(name):
            seen = f"{where} is {used:.0f} % full, {disk.free_bytes / GIB:.1f} GiB free"
            return Seen(
                "fail" if status == "fail" else "warn",
                seen,
                f"below {limits.value(name):g} %",
                limits.source(name),
                remedy,
            )
    return None


def shm(node: Node, cluster: Cluster) -> Seen:
    """Find a /dev/shm that is too small for NCCL and the data loaders of GPUs."""
    if cluster.policy.runtime != "host":
        return skip("the ranks run in containers, whose /dev/shm is container_shm_size")
    container = node.facts.container
    if node.gpu is not None and not node.gpu.count:
        return skip("there is no GPU")
    if container is None or container.shm_bytes is None:
        return unknown("the size of /dev/shm is not known", "container")
    size = container.shm_bytes / GIB
    least = cluster.thresholds.value("shm")
    if size >= least:
        return fine(f"{size:.1f} GiB", cluster.thresholds.source("shm"), f"at least {least:g} GiB")
    remedy = "mount -o remount,size=16G /dev/shm; in a container: --shm-size or --ipc=host"
    return Seen(
        "fail", f"/dev/shm has {size:.2f} GiB", f"at least {least:g} GiB", cluster.thresholds.source("shm"), remedy
    )


def swap(node: Node, cluster: Cluster) -> Seen:
    """Find swap on nodes with GPUs: a rank that swaps holds all others up."""
    memory = node.facts.memory
    if memory is None or memory.swap_bytes is None:
        return unknown("nobody could look at the memory", "memory")
    if node.gpu is not None and not node.gpu.count:
        return skip("there is no GPU")
    if not memory.swap_bytes:
        return fine("no swap")
    return Seen(
        "fail",
        f"{memory.swap_bytes / GIB:.1f} GiB of swap",
        "none on nodes with GPUs",
        "imbue-ai/cluster-health",
        "swapoff -a, and remove it from /etc/fstab",
    )


def memory(cluster: Cluster) -> Looks:
    """Find nodes with another amount of memory or of huge pages than the peers."""
    totals = {
        name: round(own.total_bytes / GIB)
        for name, node in cluster.nodes.items()
        if (own := node.facts.memory) is not None and own.total_bytes
    }
    pages = {name: own.hugepages or 0 for name, node in cluster.nodes.items() if (own := node.facts.memory) is not None}
    peers, alike = usual(totals), usual(pages)
    spread = cluster.thresholds.value("memory_spread") / 100
    for name in cluster.nodes:
        if name not in totals or peers is None or alike is None:
            seen = unknown("nobody could look at the memory", "memory")
        elif abs(totals[name] - peers.value) > spread * peers.value:
            remedy = "look for a memory module that failed: dmidecode -t memory, dmesg (EDAC)"
            source = f"peers: {peers.source}; {cluster.thresholds.source('memory_spread')}"
            seen = Seen("fail", f"{totals[name]} GiB", f"about {peers.value} GiB", source, remedy)
        elif name in alike.odd:
            seen = Seen(
                "fail",
                f"{pages[name]} huge pages",
                f"{alike.value}",
                f"peers: {alike.source}",
                "set vm.nr_hugepages alike",
            )
        else:
            seen = fine(f"{totals[name]} GiB, {pages[name]} huge pages", f"peers: {peers.source}")
        yield name, seen


def clock(node: Node, cluster: Cluster) -> Seen:
    """Find clocks that differ from the controller's for certain: the answer was read between asking and receiving."""
    own = node.facts.clock
    if own is None:
        return unknown("nobody read the clock", "clock")
    if own.asked is None or cluster.received is None:
        return unknown("the controller's clock was not sent along", "clock", "give node_facts the option asked_at")
    least, most = own.wall - cluster.received, own.wall - own.asked
    off = most if most < 0 else max(least, 0.0)
    limits = cluster.thresholds
    for name in ("clock_fail", "clock_warn"):
        if abs(off) > limits.value(name):
            seen = f"at least {abs(off):.1f} s {'behind' if off < 0 else 'ahead of'} the controller"
            remedy = "let chrony or systemd-timesyncd set it: timedatectl set-ntp true"
            status = "fail" if name == "clock_fail" else "warn"
            return Seen(
                "fail" if status == "fail" else "warn",
                seen,
                f"within {limits.value(name):g} s",
                limits.source(name),
                remedy,
            )
    return fine(f"between {least:.1f} and {most:+.1f} s of the controller's", limits.source("clock_warn"))


def names(cluster: Cluster) -> Looks:
    """Find own names that stand for a loopback address, and names that stand for others on other nodes."""
    boots = {node.facts.boot_id for node in cluster.nodes.values()}
    together = len(boots) == 1 and len({node.facts.hostname for node in cluster.nodes.values()}) == 1
    for name, node in cluster.nodes.items():
        own = node.facts.names
        mine = {
            each: told for each, told in (own or {}).items() if each.split(".")[0] == node.facts.hostname.split(".")[0]
        }
        loop = [
            (each, address, told.source)
            for each, told in mine.items()
            for address in told.addresses
            if _is_loopback(address)
        ]
        if own is None:
            seen = unknown("nobody could resolve names", "names")
        elif together or len(cluster.nodes) == 1:
            seen = skip("all nodes are one machine")
        elif loop:
            each, address, source = loop[0]
            seen = Seen(
                "fail",
                f"its own name {each} stands for {address}",
                "an address that the other nodes reach: whoever asks for the name believes to be alone",
                source or "the resolver",
                f"correct the line of {each} in /etc/hosts there (the 127.0.1.1 of Debian)",
            )
        else:
            odd = _otherwise(name, cluster)
            seen = odd or fine(
                "; ".join(f"{each} {', '.join(told.addresses)}" for each, told in mine.items()) or "no name",
                "the resolver",
            )
        yield name, seen


def _otherwise(node: str, cluster: Cluster) -> Seen | None:
    """Find a name that this node resolves to other addresses than most."""
    own = cluster.nodes[node].facts.names or {}
    for each in own:
        values = {
            name: frozenset(told[each].addresses)
            for name, other in cluster.nodes.items()
            if each in (told := other.facts.names or {}) and not any(map(_is_loopback, told[each].addresses))
        }
        peers = usual(values)
        if peers is not None and node in peers.odd:
            here = ", ".join(sorted(values[node])) or "nothing"
            there = ", ".join(sorted(peers.value)) or "nothing"
            return Seen(
                "fail",
                f"{each} stands for {here}",
                there,
                f"peers: {peers.source}",
                "correct /etc/hosts or the name server there",
            )
    return None


def _is_loopback(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False
