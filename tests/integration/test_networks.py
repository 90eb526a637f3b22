# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches on the networks that clusters have: each node has a network namespace, and nothing is set by hand."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.faults.network import Network, run_ip, skip_reason, switched
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

pytestmark = pytest.mark.skipif(skip_reason() is not None, reason=str(skip_reason()))


@pytest.fixture
def network() -> Iterator[Network]:
    """Two nodes at one switch."""
    with switched(2) as made:
        yield made


def cluster_in(network: Network, home: Path, **policy: Any) -> Cluster:
    """Return the nodes of these namespaces; Ansible runs its modules there, and so the runners are there, too."""
    per_node = {}
    for node, namespace in enumerate(network.nodes):
        interpreter = home / f"python{node}"
        interpreter.write_text(f'#!/bin/sh\nexec ip netns exec {namespace} {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
        per_node[f"node{node}"] = {"ansible_python_interpreter": str(interpreter)}
    return Cluster(home, policy={"launch_head_address": "", **policy}, per_node=per_node)


def launch(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Launch a run that succeeds; return its environment by node."""
    try:
        done = cluster.launch(follow=True, script_args=["--seconds", "0.2"])
    finally:
        cluster.destroy()
    assert done.rc == 0, done.out
    assert done.phases == {"node0": "succeeded", "node1": "succeeded"}
    plan = json.loads((cluster.experiments / RUN_ID / "plan.json").read_text())
    return {node: {item["name"]: item["value"] for item in job["environment"]} for node, job in plan["jobs"].items()}


def test_addresses_with_a_prefix_of_32(network: Network, tmp_path: Path) -> None:
    """As on every VM of Google Cloud and in pods of Calico: /32, and everything goes over a gateway."""
    gateway = "10.128.0.1"
    run_ip("-n", network.switch, "address", "add", f"{gateway}/24", "dev", "bridge")
    try:
        run_ip("netns", "exec", network.switch, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the switch cannot forward: {error.stderr.strip()}")
    for node, namespace in enumerate(network.nodes):
        run_ip("-n", namespace, "address", "flush", "dev", "eth0")
        run_ip("-n", namespace, "address", "add", f"10.128.0.{node + 5}/32", "dev", "eth0")
        run_ip("-n", namespace, "route", "add", gateway, "dev", "eth0")
        run_ip("-n", namespace, "route", "add", "default", "via", gateway, "dev", "eth0")
    for environment in launch(cluster_in(network, tmp_path)).values():
        assert environment["GLOO_SOCKET_IFNAME"] == "eth0"
        assert environment["NCCL_SOCKET_IFNAME"] == "=eth0"


def test_two_nics_in_one_subnet(network: Network, tmp_path: Path) -> None:
    """As DHCP gives them on some clouds: the routes do not say which NIC has which address, and the second is used."""
    for node, namespace in enumerate(network.nodes):
        link = ("link", "add", f"second{node}", "type", "veth", "peer", "name", "eth1", "netns", namespace)
        run_ip("-n", network.switch, *link)
        run_ip("-n", network.switch, "link", "set", f"second{node}", "master", "bridge", "up")
        run_ip("-n", namespace, "link", "set", "eth1", "up")
        # Each NIC answers for its address alone, as a kernel that filters by reverse path expects.
        answer = "echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore || :"
        run_ip("netns", "exec", namespace, "sh", "-c", answer)
        run_ip("-n", namespace, "address", "flush", "dev", "eth0", "scope", "global")
        for device, host, metric in (("eth0", node + 1, "200"), ("eth1", node + 11, "100")):
            run_ip("-n", namespace, "address", "add", f"10.0.0.{host}/24", "dev", device, "metric", metric)
            run_ip("-n", namespace, "route", "add", "default", "via", "10.0.0.254", "dev", device, "metric", metric)
    for environment in launch(cluster_in(network, tmp_path)).values():
        assert environment["GLOO_SOCKET_IFNAME"] == "eth1"
        assert environment["NCCL_SOCKET_IFNAME"] == "=eth1"


def test_no_ipv4(network: Network, tmp_path: Path) -> None:
    """A node network of IPv6 alone, as of some Kubernetes clusters."""
    try:
        run_ip("-n", network.switch, "address", "add", "fd00::1/64", "dev", "bridge", "nodad")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no IPv6 here: {error.stderr.strip()}")
    for node, namespace in enumerate(network.nodes):
        run_ip("-n", namespace, "address", "flush", "dev", "eth0", "scope", "global")
        run_ip("-n", namespace, "address", "add", f"fd00::{node + 5}/64", "dev", "eth0", "nodad")
        run_ip("-n", namespace, "route", "add", "default", "via", "fd00::1", "dev", "eth0")
    for environment in launch(cluster_in(network, tmp_path)).values():
        assert environment["GLOO_SOCKET_IFNAME"] == "eth0"
        assert environment["NCCL_SOCKET_IFNAME"] == "=eth0"


def test_a_head_whose_name_is_its_loopback_address(network: Network, tmp_path: Path) -> None:
    """Debian writes 127.0.1.1 with the host's own name into /etc/hosts; the others know the head by its address."""
    hosts = {network.nodes[0]: "127.0.1.1", network.nodes[1]: network.address(0)}
    with contextlib.ExitStack() as stack:
        for namespace, address in hosts.items():
            # ip-netns(8) mounts the files of this folder over those of /etc.
            folder = Path("/etc/netns") / namespace
            folder.mkdir(parents=True)
            stack.callback(shutil.rmtree, folder)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{address} trainer\n")
        cluster = cluster_in(network, tmp_path, launch_head_address="trainer")
        for environment in launch(cluster).values():
            assert environment["GLOO_SOCKET_IFNAME"] == "eth0"
    plan = json.loads((cluster.experiments / RUN_ID / "plan.json").read_text())
    assert plan["head"]["address"] == network.address(0)
