# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind of this container, and what it shares with its host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._host import sysfs
from .._host.host import Host
from .._records.system import Container

# linux/proc_ns.h, PROC_IPC_INIT_INO
HOST_IPC = "ipc:[4026531839]"
# net/core/sysctl_net_core.c registers net_core_table for the first network namespace only, netns_core_table for all.
NET_CORE = "/proc/sys/net/core"
ONLY_IN_THE_FIRST = f"{NET_CORE}/netdev_max_backlog"
SECRETS = "/var/run/secrets/kubernetes.io"
_WORD = re.compile(r"[a-z][a-z0-9-]{0,31}")
# Names of the managers' cgroups; in a cgroup namespace the path does not show them.
_CGROUPS = (
    ("kubernetes", re.compile(r"kubepods")),
    ("podman", re.compile(r"libpod[-_]")),
    ("docker", re.compile(r"[/-]docker[/-][0-9a-f]{12}")),
    ("lxc", re.compile(r"/lxc(?:\.payload)?[./]")),
)


def parse_environ(text: str) -> dict[str, str]:
    """Return the variables in /proc/PID/environ (proc_pid_environ(5))."""
    pairs = (entry.partition("=") for entry in text.split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def parse_cgroup(text: str) -> str | None:
    """Return the kind of container whose cgroup is in /proc/PID/cgroup (cgroups(7)), None for an unknown one."""
    return next((kind for kind, pattern in _CGROUPS if pattern.search(text)), None)


def read_environ(host: Host) -> dict[str, str]:
    """Return this process's environment, as the machine has it."""
    return parse_environ(host.read_text("/proc/self/environ") or "")


def read_container(host: Host) -> Container:
    """Return what can be detected from inside; of nested containers, the innermost."""
    kind, source = next(_signs(host), (None, None))
    network = _shares_network(host)
    ipc = host.read_link("/proc/self/ns/ipc")
    shm = host.space("/dev/shm") if host.is_dir("/dev/shm") else None
    return Container(
        kind=kind,
        source=source,
        pod=_pod(host) if kind == "kubernetes" and not network else None,
        shm_bytes=None if shm is None else shm.size,
        host_network=network,
        host_ipc=None if ipc is None else ipc == HOST_IPC,
    )


def _signs(host: Host) -> Iterator[tuple[str, str]]:
    """Yield each kind with its evidence, the most certain first."""
    environ = read_environ(host)
    first = parse_environ(host.read_text("/proc/1/environ") or "")
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if environ.get(name):
            yield "apptainer", f"{name} in the environment"
    if host.is_dir("/.singularity.d"):
        yield "apptainer", "/.singularity.d"
    if "KUBERNETES_SERVICE_HOST" in environ or "KUBERNETES_SERVICE_HOST" in first:
        yield "kubernetes", "KUBERNETES_SERVICE_HOST in the environment"
    if host.is_dir(SECRETS):
        yield "kubernetes", SECRETS
    cgroup = parse_cgroup(host.read_text("/proc/self/cgroup") or "")
    if cgroup == "kubernetes":  # before the files of the runtime that started the pod
        yield cgroup, "/proc/self/cgroup"
    for kind, path in (("podman", "/run/.containerenv"), ("docker", "/.dockerenv"), ("docker", "/run/.dockerenv")):
        if host.exists(path):
            yield kind, path
    # systemd's container interface: the name that the manager uses
    words = (
        (host.read_text("/run/systemd/container"), "/run/systemd/container"),
        (first.get("container"), "/proc/1/environ"),
        (environ.get("container"), "container in the environment"),
    )
    for word, source in words:
        if word and _WORD.fullmatch(word.strip()):
            yield word.strip(), source
    if cgroup is not None:
        yield cgroup, "/proc/self/cgroup"


def _pod(host: Host) -> str | None:
    """Return namespace/name of the pod; its host name is its name, unless it has its host's network."""
    name = sysfs.text(host, "/proc/sys/kernel/hostname")
    namespace = sysfs.text(host, f"{SECRETS}/serviceaccount/namespace")
    return "/".join(filter(None, [namespace, name])) or None


def _shares_network(host: Host) -> bool | None:
    if host.exists(ONLY_IN_THE_FIRST):
        return True
    return False if host.is_dir(NET_CORE) else None
