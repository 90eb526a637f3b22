# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits, disks, memory, clock and names of a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.health import Memory, ResolvedName
from ansible_collections.muster.train.plugins.module_utils._records.system import Disk

from .._cluster import starter
from .._cluster.address import is_loopback
from .._cluster.node import Node
from .._cluster.peers import usual
from .._findings.remedy import sentence
from .._request.memory_limit import UNLIMITED, enough, say
from .comparison import ranks_ports
from .model import IN_CONTAINER, NO_GPU, Cluster, Outcome, Outcomes, failed, passed, skipped, unavailable
from .policy import PROFILE
from .properties import MEMLOCK

GIB = 1 << 30
SLOW_LOOK_UP_MS = 1000
TMP = "/tmp"  # only compared with
FAILED_MODULE = "look for a memory module that failed: dmidecode -t memory, dmesg (EDAC)"
OTHER_LIMIT = "give all nodes the same limit of memory"
POD = "kubernetes"
# Kubernetes gives added capabilities to the processes of root alone.
OF_ROOT = "let the container have the capability: securityContext.capabilities.add: [IPC_LOCK] in the manifest"
OF_USER = (
    "run the container as root (runAsUser: 0) with the capability IPC_LOCK, or raise the limit of its runtime: "
    'LimitMEMLOCK=infinity in containerd\'s unit, default_ulimits = ["memlock=-1:-1"] of CRI-O'
)


def memlock(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose ranks may lock less memory than RDMA needs."""
    profile = cluster.checks.expected.get("memlock")
    if cluster.in_engine:
        return skipped(f"{IN_CONTAINER}, whose limit is the engine's")
    if profile is None and not ranks_ports(node, cluster):
        return skipped("there is no usable RDMA port, and only RDMA needs locked memory")
    memlock, observed = node.facts.memlock, MEMLOCK.of(node, cluster)
    if memlock is None or observed is None:
        return unavailable("the limits could not be read", "limits")
    if starter.choose(cluster.policy.starter, node).name == starter.SYSTEM_UNIT:
        return skipped(f"{observed} here, but a run starts in a system unit, which raises it")
    target = UNLIMITED if profile is None else profile
    source = "NCCL registers its buffers (ibv_reg_mr)" if profile is None else f"{PROFILE}.memlock"
    expected = say(target)
    if enough(memlock.effective, target):
        return passed(observed, source, expected)
    if node.is_in_step:
        remedy = (
            "let slurmd decide: PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, and LimitMEMLOCK=infinity in "
            "slurmd's unit (systemctl edit slurmd), then restart slurmd"
        )
        return failed(observed, expected, source, remedy)
    if _is_pod(node):
        return failed(observed, expected, source, OF_ROOT if node.facts.user.uid == 0 else OF_USER)
    setup = cluster.launch.invocation.command("setup", "--tags", "memlock")
    return failed(observed, expected, source, sentence("raise it: ", setup, ", then log in again"))


def _is_pod(node: Node) -> bool:
    return node.facts.container is not None and node.facts.container.kind == POD


def disks(node: Node, cluster: Cluster) -> Iterator[Outcome]:
    """Find full, read-only or broken file systems that a run writes to; code and data may be read-only."""
    if node.facts.disks is None:
        yield unavailable("the file systems could not be read", "disk")
        return
    for disk in node.facts.disks:
        if disk.is_workdir or disk.path == TMP:
            yield _disk(disk, cluster)


def _disk(disk: Disk, cluster: Cluster) -> Outcome:
    where = f"{disk.path} ({disk.mount_point or 'mount not known'})"
    free_up = f"free space on {disk.mount_point or disk.path}, or set launch_workdir to another disk"
    if disk.read_only:
        remedy = "check dmesg for disk errors, then remount it"
        return failed(f"{where} is mounted read-only", "a writable file system", "mountinfo", remedy)
    full = _full(disk, where, cluster, free_up)
    if full is not None and full.status == "fail":
        return full
    if disk.writable is False:
        observed = f"{where}: {disk.write_error or 'a file could not be written'}"
        source = "a file of 1 block, written, synced and removed"
        return failed(observed, "a file can be written", source, f"correct owner and mode, or {free_up}")
    if full is not None:
        return full
    if disk.size_bytes is None or disk.free_bytes is None:
        return unavailable(f"{where}: its size is not known", "disk")
    return passed(f"{where}: {disk.free_bytes / GIB:.0f} GiB free", cluster.checks.source("disk_warn"))


def _full(disk: Disk, where: str, cluster: Cluster, remedy: str) -> Outcome | None:
    checks = cluster.checks
    least = checks.threshold("inodes_fail")
    if disk.free_inodes is not None and disk.free_inodes < least:
        observed = f"{where}: room for {disk.free_inodes} files"
        return failed(observed, f"room for at least {least:g} files", checks.source("inodes_fail"), remedy)
    if not disk.size_bytes or disk.free_bytes is None:
        return None
    free = disk.free_bytes / GIB
    if free >= checks.threshold("disk_enough"):
        return None
    used = 100 * (1 - disk.free_bytes / disk.size_bytes)
    name = next((name for name in ("disk_fail", "disk_warn") if used >= checks.threshold(name)), None)
    expected = f"below {checks.threshold(name):g} %" if name else ""
    # Libraries need little room in /tmp, which may be a small tmpfs.
    if disk.is_workdir and name != "disk_fail" and free < checks.threshold("disk_least"):
        name, expected = "disk_least", f"at least {checks.threshold('disk_least'):g} GiB free"
    if name is None:
        return None
    observed = f"{where} is {used:.0f} % full, {free:.1f} GiB free"
    return Outcome("warn" if name == "disk_warn" else "fail", observed, expected, checks.source(name), remedy)


def shm(node: Node, cluster: Cluster) -> Outcome:
    """Find a /dev/shm that is too small for NCCL and the data loaders of GPUs."""
    if cluster.in_engine:
        return skipped(f"{IN_CONTAINER}, whose /dev/shm is container_shm_size")
    container = node.facts.container
    if node.gpu is not None and not node.gpu.count:
        return skipped(NO_GPU)
    if container is None or container.shm_bytes is None:
        return unavailable("the size of /dev/shm is not known", "container")
    size, least, source = container.shm_bytes / GIB, cluster.checks.threshold("shm"), cluster.checks.source("shm")
    expected = f"at least {least:g} GiB"
    if size >= least:
        return passed(f"{size:.1f} GiB", source, expected)
    of_host = "mount -o remount,size=16G /dev/shm; in a container: --shm-size or --ipc=host"
    of_pod = "mount an emptyDir with medium: Memory and a sizeLimit at /dev/shm, in the manifest of the pods"
    remedy = of_pod if _is_pod(node) else of_host
    return failed(f"/dev/shm has {size:.2f} GiB", expected, source, remedy)


def swap(node: Node, cluster: Cluster) -> Outcome:
    """Find swap on nodes with GPUs: a rank that swaps slows down all others."""
    memory = node.facts.memory
    if memory is None or memory.swap_bytes is None:
        return unavailable("the memory could not be read", "memory")
    if node.gpu is not None and not node.gpu.count:
        return skipped(NO_GPU)
    if not memory.swap_bytes:
        return passed("no swap")
    observed, remedy = f"{memory.swap_bytes / GIB:.1f} GiB of swap", "swapoff -a, and remove it from /etc/fstab"
    return failed(observed, "none on nodes with GPUs", "imbue-ai/cluster-health", remedy)


def _usable(memory: Memory) -> int | None:
    """Return what the ranks may use: all of the machine's memory, unless a control group leaves less."""
    sizes = [size for size in (memory.total_bytes, memory.limit_bytes) if size]
    return min(sizes, default=None)


def _is_limited(memory: Memory) -> bool:
    return _usable(memory) != memory.total_bytes


def memory(cluster: Cluster) -> Outcomes:
    """Find nodes with a different amount of memory that the ranks may use, or of huge pages, from the peers."""
    memories = {name: node.facts.memory for name, node in cluster.nodes.items() if node.facts.memory is not None}
    totals = {name: round(total / GIB) for name, memory in memories.items() if (total := _usable(memory))}
    pages = {name: memory.hugepages or 0 for name, memory in memories.items()}
    peers, pages_peers = usual(totals), usual(pages)
    spread = cluster.checks.threshold("memory_spread") / 100
    for name in cluster.nodes:
        if name not in totals or peers is None or pages_peers is None:
            outcome = unavailable("the memory could not be read", "memory")
        elif abs(totals[name] - peers.value) > spread * peers.value:
            source = f"peers: {peers.source}; {cluster.checks.source('memory_spread')}"
            # Of two nodes, the one with less has the limit, or the failed module.
            less = name if totals[name] < peers.value else peers.nodes[0]
            remedy = OTHER_LIMIT if _is_limited(memories[less]) else FAILED_MODULE
            outcome = failed(f"{totals[name]} GiB", f"about {peers.value} GiB", source, remedy)
        elif name in pages_peers.odd:
            source, remedy = f"peers: {pages_peers.source}", "set the same vm.nr_hugepages"
            outcome = failed(f"{pages[name]} huge pages", str(pages_peers.value), source, remedy)
        else:
            outcome = passed(f"{totals[name]} GiB, {pages[name]} huge pages", f"peers: {peers.source}")
        yield name, outcome


def clock(node: Node, cluster: Cluster) -> Outcome:
    """Find clocks that certainly differ from the controller's: each was read between the request and the answer."""
    reading, checks = node.facts.clock, cluster.checks
    if reading is None:
        return unavailable("the clock was not read", "clock")
    if reading.asked is None or cluster.received is None:
        observed, remedy = "the time of the controller's request is not known", "give node_facts the option asked_at"
        return unavailable(observed, "clock", remedy=remedy)
    least, most = reading.wall - cluster.received, reading.wall - reading.asked
    offset = most if most < 0 else max(least, 0.0)
    name = next((name for name in ("clock_fail", "clock_warn") if abs(offset) > checks.threshold(name)), None)
    if name is None:
        return passed(f"between {least:.1f} and {most:+.1f} s from the controller's", checks.source("clock_warn"))
    return Outcome(
        "fail" if name == "clock_fail" else "warn",
        f"at least {abs(offset):.1f} s {'behind' if offset < 0 else 'ahead of'} the controller",
        f"within {checks.threshold(name):g} s",
        checks.source(name),
        "let chrony or systemd-timesyncd set it: timedatectl set-ntp true",
    )


def names(cluster: Cluster) -> Outcomes:
    """Find nodes whose own name is a loopback address, and names that resolve differently from the other nodes."""
    together = len({(node.facts.boot_id, node.facts.hostname) for node in cluster.nodes.values()}) == 1
    for name, node in cluster.nodes.items():
        resolved, short = node.facts.names, node.facts.hostname.split(".")[0]
        if resolved is None:
            yield name, unavailable("names could not be resolved", "names")
            continue
        if together:
            yield name, skipped("all nodes are one machine")
            continue
        self_names = {host: answer for host, answer in resolved.items() if host.split(".")[0] == short}
        texts = [f"{host} {', '.join(answer.addresses)}" for host, answer in self_names.items()]
        problem = _loopback_name(self_names) or _other_addresses(name, cluster)
        yield name, problem or passed("; ".join(texts) or "no name", "the resolver")


def lookups(node: Node, _cluster: Cluster) -> Outcome:
    """Find nodes where a name server makes every process wait."""
    resolved = node.facts.names
    if resolved is None:
        return unavailable("names could not be resolved", "names")
    times = [(answer.ms, f"the address of {name}") for name, answer in resolved.items()]
    times += [
        (answer.reverse_ms, f"the name of {answer.addresses[0]}") for answer in resolved.values() if answer.addresses
    ]
    slow = [f"{ms / 1000:.1f} s for {what}" for ms, what in times if ms is not None and ms >= SLOW_LOOK_UP_MS]
    if not slow:
        return passed("all in less than 1 s", "the resolver")
    return Outcome(
        "warn",
        f"waited {', '.join(slow)}",
        "less than 1 s: every process of torch waits for it as it starts",
        "the resolver",
        "correct the name servers in /etc/resolv.conf there, or put names and addresses of the nodes into /etc/hosts",
    )


def _loopback_name(self_names: Mapping[str, ResolvedName]) -> Outcome | None:
    for host, answer in self_names.items():
        for address in filter(is_loopback, answer.addresses):
            return failed(
                f"its own name {host} resolves to {address}",
                "an address that the other nodes reach: a loopback address leads back to the node itself",
                answer.source or "the resolver",
                f"correct the line of {host} in /etc/hosts there (on Debian, 127.0.1.1)",
            )
    return None


def _other_addresses(node: str, cluster: Cluster) -> Outcome | None:
    """Find a name that this node resolves to different addresses from most."""
    for host in cluster.nodes[node].facts.names or {}:
        answers = {name: (other.facts.names or {}).get(host) for name, other in cluster.nodes.items()}
        values = {
            name: frozenset(answer.addresses)
            for name, answer in answers.items()
            if answer is not None and not any(map(is_loopback, answer.addresses))
        }
        peers = usual(values)
        if peers is not None and node in peers.odd:
            observed, expected = (", ".join(sorted(value)) or "nothing" for value in (values[node], peers.value))
            remedy = "correct /etc/hosts or the name server there"
            return failed(f"{host} resolves to {observed}", expected, f"peers: {peers.source}", remedy)
    return None
