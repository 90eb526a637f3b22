# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers: what kind, and what they share with their host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container.kind import parse_environ, read_container
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.system import Container
from ansible_collections.muster.train.tests.support.machines import Machine

SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
POD_CGROUP = "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-pod1234.slice/cri-containerd-ab.scope\n"
DOCKER_CGROUP = "12:memory:/docker/3f1c2d4e5a6b3f1c2d4e5a6b3f1c2d4e\n"


@pytest.mark.parametrize(
    ("files", "kind", "source"),
    [
        ({"/.dockerenv": ""}, "docker", "/.dockerenv"),
        ({"/run/.containerenv": 'engine="podman-4.9.4"\n'}, "podman", "/run/.containerenv"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn", "/run/systemd/container"),
        ({"/proc/1/environ": "container=lxc\0TERM=linux\0"}, "lxc", "/proc/1/environ"),
        ({"/proc/self/environ": "container=oci\0"}, "oci", "container in the environment"),
        ({"/proc/self/environ": "APPTAINER_CONTAINER=/a.sif\0"}, "apptainer", "APPTAINER_CONTAINER in the environment"),
        ({"/.singularity.d/runscript": "", "/.dockerenv": ""}, "apptainer", "/.singularity.d"),
        ({"/proc/self/cgroup": POD_CGROUP, "/.dockerenv": ""}, "kubernetes", "/proc/self/cgroup"),
        ({"/proc/self/cgroup": DOCKER_CGROUP}, "docker", "/proc/self/cgroup"),
        ({f"{SECRETS}/namespace": "team", "/run/.containerenv": ""}, "kubernetes", "/var/run/secrets/kubernetes.io"),
        # Hosts, and what they have of their own containers
        ({"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n"}, None, None),
        ({"/proc/self/cgroup": "0::/system.slice/docker.service\n", "/var/lib/docker/x": ""}, None, None),
        ({"/proc/1/environ": "container=\0", "/run/systemd/container": "\n"}, None, None),
        ({"/run/systemd/container": "a b\nc"}, None, None),
        ({}, None, None),
    ],
)
def test_kind(tmp_path: Path, files: dict[str, str], kind: str | None, source: str | None) -> None:
    result = read_container(Machine({"files": files}, tmp_path))
    assert (result.kind, result.source, result.pod) == (kind, source, result.pod if kind == "kubernetes" else None)


POD: dict[str, Any] = {
    "files": {
        "/proc/self/environ": "KUBERNETES_SERVICE_HOST=10.96.0.1\0HOSTNAME=trainer-0\0",
        "/proc/sys/kernel/hostname": "trainer-0\n",
        "/proc/sys/net/core/somaxconn": "4096\n",
        f"{SECRETS}/namespace": "team",
    },
    "links": {"/proc/self/ns/ipc": "ipc:[4026532701]"},
}


def test_a_pod(tmp_path: Path) -> None:
    assert read_container(Machine(POD, tmp_path)) == Container(
        kind="kubernetes",
        source="KUBERNETES_SERVICE_HOST in the environment",
        pod="team/trainer-0",
        shm_bytes=None,
        host_network=False,
        host_ipc=False,
    )


def test_the_name_of_a_pod_in_its_hosts_network_is_not_known(tmp_path: Path) -> None:
    shared = {"/proc/sys/net/core/netdev_max_backlog": "1000\n"}
    links = {"/proc/self/ns/ipc": "ipc:[4026531839]"}
    result = read_container(Machine({"files": {**POD["files"], **shared}, "links": links}, tmp_path))
    assert (result.kind, result.pod, result.host_network, result.host_ipc) == ("kubernetes", None, True, True)


def test_shared_memory_of_this_machine() -> None:
    state = os.statvfs("/dev/shm")
    assert read_container(Host()).shm_bytes == state.f_blocks * state.f_frsize


def test_parse_environ() -> None:
    assert parse_environ("A=1=2\0B=\0junk\0=x\0") == {"A": "1=2", "B": "", "": "x"}
