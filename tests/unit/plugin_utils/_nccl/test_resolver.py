# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the resolver as a whole: sockets, what is left to NCCL, and that it answers to anything a node may say."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, Hca
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import HeadInterface
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT
from ansible_collections.muster.train.plugins.plugin_utils._nccl.grammar import parse
from ansible_collections.muster.train.plugins.plugin_utils._nccl.hcas import choose as choose_hcas
from ansible_collections.muster.train.plugins.plugin_utils._nccl.lint.lint import lint
from ansible_collections.muster.train.plugins.plugin_utils._nccl.ports import openable
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import (
    FabricPolicy,
    Library,
    NodeEnvironment,
    NodeView,
    resolve,
)
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.rdma_parts import (
    AUTO,
    MUST_TCP,
    gids,
    gpu,
    hca,
    net,
    port,
    rdma,
    roce,
    view,
)

EIGHT = [hca(f"mlx5_{number}") for number in range(8)]


def environment_of(node: NodeView) -> NodeEnvironment:
    return resolve([node], AUTO).nodes[node.name]


def test_the_interface_towards_the_head_in_either_librarys_syntax() -> None:
    variables = {variable.name: variable for variable in environment_of(view(hcas=[])).variables}
    nccl, gloo = variables["NCCL_SOCKET_IFNAME"], variables["GLOO_SOCKET_IFNAME"]
    assert (nccl.value, nccl.rule, nccl.origin) == ("=eth0", "D4", "fabric")
    assert (gloo.value, gloo.rule, gloo.origin) == ("eth0", "D4", "fabric")


def interfaces(environment: NodeEnvironment) -> dict[str, str]:
    return {
        variable.name: variable.value for variable in environment.variables if variable.name.endswith("_SOCKET_IFNAME")
    }


def test_an_unknown_interface_sets_nothing() -> None:
    environment = environment_of(view(hcas=[], interface=None))
    assert interfaces(environment) == {}
    assert {variable.name for variable in environment.not_set if variable.rule == "D4"} == {
        "NCCL_SOCKET_IFNAME",
        "GLOO_SOCKET_IFNAME",
    }


@pytest.mark.parametrize("name", ["docker0", "virbr0", "veth12ab", "cni0", "podman1", "br-0123456789ab"])
def test_bridges_of_the_machine_are_never_named(name: str) -> None:
    resolution = resolve([view(hcas=[], interface=HeadInterface(name, "route"))], MUST_TCP)
    assert interfaces(resolution.nodes["node0"]) == {}
    assert [(finding.check, finding.status) for finding in resolution.findings] == [("interface", "warn")]


@pytest.mark.parametrize("name", ["lo", "bond0", "br-ex", "ib0"])
def test_other_interfaces_are(name: str) -> None:
    environment = environment_of(view(hcas=[], interface=HeadInterface(name, "route")))
    assert set(interfaces(environment).values()) == {f"={name}", name}


def test_a_roce_rail_towards_the_head_is_warned_of_unless_it_is_the_only_interface() -> None:
    rail = [roce("mlx5_0", "10.2.0.5", netdev="eth2")]
    towards = HeadInterface("eth2", "route")
    two, one = net(eth0="10.9.0.1/16", eth2="10.2.0.5/24"), net(default="eth2", eth2="10.2.0.5/24")
    warned = [
        [finding.check for finding in resolve([view(hcas=rail, interface=towards, net=network)], AUTO).findings]
        for network in (two, one)
    ]
    assert warned == [["interface"], ["rdma ports"]]


def test_docker0_is_not_an_alternative_interface() -> None:
    rail = [roce("mlx5_0", "10.2.0.5", netdev="eth2")]
    network = net(default="eth2", eth2="10.2.0.5/24", docker0="172.17.0.1/16")
    node = view(hcas=rail, interface=HeadInterface("eth2", "route"), net=network)
    assert [finding.check for finding in resolve([node], AUTO).findings] == ["rdma ports"]


def over_tcp(**speeds: int) -> list[Finding]:
    networks = dataclasses.replace(net(eth0="10.9.0.1/16", eth2="10.2.0.5/24"), speeds=speeds)
    return resolve([view("a", net=networks), view("b", net=networks)], MUST_TCP).findings


SPEEDS = {"eth0": 1000, "eth2": 100000, "docker0": 400000}


def test_over_tcp_a_faster_interface_is_named() -> None:
    assert outcomes(over_tcp(**SPEEDS)) == [("interface", "a", "warn"), ("interface", "b", "warn")]
    assert over_tcp(eth0=100000, eth2=100000, docker0=400000) == over_tcp(eth2=100000) == []


def left(node: NodeView) -> dict[str, str]:
    return {variable.name: variable.reason for variable in environment_of(node).not_set}


def test_what_is_left_to_nccl_on_an_rdma_node() -> None:
    assert sorted(left(view(hcas=EIGHT))) == [
        *("NCCL_ALGO", "NCCL_CROSS_NIC", "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_TIMEOUT"),
        *("NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL", "NCCL_PROTO"),
    ]


WITHOUT_PEERMEM = view(rdma=rdma(EIGHT, nvidia_peermem=False))


def test_the_state_of_gpudirect_is_reported() -> None:
    level = "NCCL_NET_GDR_LEVEL"
    assert left(WITHOUT_PEERMEM)[level] != left(view(hcas=EIGHT))[level]


def test_a_cluster_without_gpus_and_rdma_hears_of_neither() -> None:
    assert left(view(hcas=[], gpu=gpu(0))) == left(view(hcas=EIGHT, gpu=gpu(0))) == {}


def test_what_users_set_is_not_listed_as_left_out() -> None:
    assert "NCCL_ALGO" not in left(view(hcas=EIGHT, user_values={"NCCL_ALGO": "Ring"}))


NAMES = ("mlx5_0", "mlx5_1", "mlx5_10", "mlx5_2", "mlx5_bond_0", "ibp12s0", "rxe0", "efa_0", "bnxt_re3")
ADDRESSES = ("10.0.0.5", "10.0.1.5", "169.254.1.1", "2001:db8::5", "fe80::1", "::", "garbage", "", None)
STATES = ("ACTIVE", "ACTIVE", "ACTIVE", "DOWN", "INIT", None)


def random_hca(choose: random.Random, name: str) -> Hca:
    ports = []
    for number in range(choose.choice((1, 1, 1, 2))):
        table = [
            Gid(
                index,
                "",
                choose.choice(("RoCE v2", "IB/RoCE v1", None)),
                address,
                choose.choice(("eth2", "eth0", None)),
            )
            for index, address in enumerate(choose.choices(ADDRESSES, k=choose.randrange(6)))
            if choose.random() < 0.8
        ]
        layer: Any = choose.choice(("InfiniBand", "Ethernet", "Ethernet", "Unknown", None))
        state, sm_lid = choose.choice(STATES), choose.choice((0, 1, None))
        works = state == "ACTIVE" and (layer == "Ethernet" or (layer == "InfiniBand" and sm_lid != 0))
        ports.append(
            port(
                number + 1,
                layer,
                choose.choice((100.0, 200.0, 400.0, None)),
                state=state,
                sm_lid=sm_lid,
                netdev=choose.choice(("eth0", "eth2", None)),
                gids=table or gids("fe80::1", "10.0.0.5"),
                usable=works and choose.random() < 0.9,
            )
        )
    pci: Any = choose.choice(("0000:0c:00.0", None))
    return hca(name, *ports, pci_address=pci, uverbs=choose.choice(("/dev/infiniband/uverbs0", None)))


def random_node(choose: random.Random, name: str) -> NodeView:
    hcas = [random_hca(choose, name) for name in choose.sample(NAMES, choose.randrange(len(NAMES)))]
    links = [
        (choose.randrange(4), choose.choice(NAMES), choose.choice(("PIX", "PXB", "SYS")))
        for _number in range(choose.randrange(12))
    ]
    version: Any = choose.choice((None, (2, 19, 3), (2, 23), (2, 26, 2), (2, 30, 7)))
    return view(
        name,
        None if choose.random() < 0.05 else hcas,
        gpu=choose.choice((None, gpu(0), gpu(2, links))),
        net=choose.choice((None, net(), net(default="eth2", eth0="10.9.0.1/16", eth2="10.0.0.5/24"))),
        library=Library(choose.choice(("nccl", "rccl")), version),
        interface=choose.choice((None, HeadInterface("eth0", "route"), HeadInterface("docker0", "route"))),
        container=choose.choice((None, True, False)),
    )


@pytest.mark.parametrize("seed", range(10))
def test_any_cluster_has_an_answer_and_every_list_means_what_was_chosen(seed: int) -> None:
    choose = random.Random(seed)
    for _number in range(100):
        nodes = [random_node(choose, f"node{number}") for number in range(choose.randrange(1, 4))]
        resolution = resolve(nodes, FabricPolicy(choose.choice(("auto", "rdma", "tcp")), DEFAULT))
        assert list(resolution.nodes) == [node.name for node in nodes]
        for node in nodes:
            environment = resolution.nodes[node.name]
            values = {variable.name: variable.value for variable in environment.variables}
            taken = parse(values.get("NCCL_IB_HCA", ""), node.library.version)
            if resolution.fabric.value == "rdma" and environment.hcas:
                usable_ports = openable(node.rdma)
                matched = {port.label for port in usable_ports if taken.takes(port.hca.name, port.port.port)}
                assert matched == {port.label for port in choose_hcas(node).ports}
            assert lint(node, environment.variables, resolution.fabric) == []
