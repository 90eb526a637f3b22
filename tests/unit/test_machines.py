# SPDX-License-Identifier: GPL-3.0-or-later
"""Every machine of tests/machines, as part of a cluster of two: what is seen, and the resolver's full answer.

The answers in expected/ were reasoned from the decision table, by hand.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._nccl.inherited import INHERITED
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import numbers
from ansible_collections.muster.train.tools._machine.machine import MACHINES
from ansible_collections.muster.train.tools._machine.manifest import Manifest, read
from ansible_collections.muster.train.tools._machine.show import Options, cluster_of, resolved

pytestmark = pytest.mark.slow

EXPECTED = sorted((MACHINES / "expected").glob("*.yml"))
NAMES = [path.stem for path in EXPECTED]


def answers() -> list[tuple[str, str]]:
    return [(path.stem, of) for path in EXPECTED for answer in expected(path.stem)["answers"] for of in answer["of"]]


@functools.cache
def expected(name: str) -> dict[str, Any]:
    document = yaml.safe_load((MACHINES / "expected" / f"{name}.yml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@functools.cache
def cluster(name: str) -> Any:
    """Return what is seen of the machine and of one like it beside it; both with the login that is expected of them."""
    text = (MACHINES / f"{expected(name).get('machine', name)}.yml").read_text(encoding="utf-8")
    other = text
    for old, new in expected(name)["peer"].items():
        assert old in text
        other = other.replace(old, new)
    return cluster_of({"one": with_login(name, text), "two": with_login(name, other)})


def with_login(name: str, text: str) -> Manifest:
    manifest = read(text)
    login, files = expected(name).get("login", {}), expected(name).get("files", {})
    return dataclasses.replace(manifest, environment=login, files={**manifest.files, **files})


def test_there_are_machines_of_every_kind() -> None:
    assert len(NAMES) >= 14
    libraries = {of.rpartition(".")[0] for _name, of in answers()}
    assert libraries == {"nccl 2.19", "nccl 2.23", "nccl 2.27", "rccl 2.21"}


@pytest.mark.parametrize("name", NAMES)
def test_facts(name: str) -> None:
    facts = expected(name)["facts"]
    machine = cluster(name)["one"]
    rdma, gpu = machine.rdma.to_dict(), machine.gpu.to_dict()
    assert sorted(key for key, loaded in rdma["gdr"].items() if loaded) == facts["gdr"]
    ports = {hca["name"]: port for hca in rdma["hcas"] for port in hca["ports"]}
    assert [hca for hca, port in ports.items() if port["usable"]] == facts["usable"]
    assert rdma["usable"] == bool(facts["usable"])
    for hca, reason in facts.get("unusable", {}).items():
        assert reason in "; ".join(ports[hca]["reasons"])
    for hca, index in facts.get("rocev2_gid_index", {}).items():
        assert ports[hca]["rocev2_gid_index"] == index
    assert {key: gpu[key] for key in facts["gpus"]} == facts["gpus"]
    assert len(gpu["devices"]) == facts["gpus"]["count"]
    assert {device["name"] for device in gpu["devices"]} <= {
        facts.get("name", device["name"]) for device in gpu["devices"]
    }
    assert len({device["uuid"] for device in gpu["devices"]} - {None}) == facts["gpus"]["count"]
    assert dict(Counter(link["relation"] for link in gpu["links"])) == facts["links"]
    nearest = {
        nearest_nic["gpu"]: [nearest_nic["relation"], *nearest_nic["names"]] for nearest_nic in gpu["nearest_nics"]
    }
    for index, near in facts.get("nearest", {}).items():
        assert nearest[index] == near


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_whole_machine_is_unknown(name: str) -> None:
    machine = cluster(name)["one"]
    assert machine.warnings == []
    assert machine.node.net.addresses
    assert machine.node.cpus > 1
    assert machine.node.memlock is not None
    for hca in machine.rdma.hcas:
        assert hca.pci_address
        assert hca.driver
        assert all(port.rate_gbps for port in hca.ports)
    for device in machine.gpu.devices:
        assert device.pci_address
        assert device.memory_mib
        assert device.name


@pytest.mark.parametrize(("name", "of"), answers())
def test_answer(name: str, of: str) -> None:
    [answer] = [candidate for candidate in expected(name)["answers"] if of in candidate["of"]]
    library, version = of.split()
    resolution, findings = resolved(cluster(name), Options(library, numbers(version)))
    assert resolution.fabric.value == answer["fabric"]
    for node in ("one", "two"):
        environment = resolution.nodes[node]
        assert {variable.name: [variable.rule, variable.value] for variable in environment.variables} == answer["env"]
        assert sorted(variable.name for variable in environment.not_set) == answer["not_set"]
        assert all(variable.reason or variable.layer in INHERITED for variable in environment.variables)
        assert all(variable.reason for variable in environment.not_set)
        assert [[result.check, result.status] for result in findings if result.node == node] == answer["findings"]
    assert [result for result in findings if result.node is None] == []


@pytest.mark.parametrize("name", [name for name in NAMES if not expected(name)["facts"]["usable"]])
def test_without_rdma_that_mode_is_an_error_that_says_why(name: str) -> None:
    machines = cluster(name)
    _resolution, findings = resolved(machines, Options(mode="rdma"))
    stopping = [result for result in findings if result.stops]
    efa = any(hca.driver == "efa" for hca in machines["one"].rdma.hcas)
    assert [(result.check, result.node) for result in stopping] == (
        [] if efa else [("rdma ports", "one"), ("rdma ports", "two")]
    )


@pytest.mark.parametrize("name", NAMES)
def test_tcp_is_tcp_everywhere(name: str) -> None:
    resolution, _findings = resolved(cluster(name), Options(mode="tcp"))
    for environment in resolution.nodes.values():
        variables = {variable.name: variable.value for variable in environment.variables}
        assert variables["NCCL_IB_DISABLE"] == "1"
        assert not {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"} & variables.keys()


def test_what_the_login_disables_contradicts_the_mode() -> None:
    name = "login_full_of_nccl"
    _resolution, findings = resolved(cluster(name), Options("nccl", (2, 27, 7), mode="rdma"))
    assert [(result.node, result.source, result.observed) for result in findings if result.stops] == [
        (node, "login", "NCCL_IB_DISABLE=1 (login) contradicts mode=rdma (--mode)") for node in ("one", "two")
    ]


def test_what_is_inherited_is_compared_between_nodes() -> None:
    name = "login_full_of_nccl"
    text = (MACHINES / "dgx_h100_ib.yml").read_text(encoding="utf-8")
    machines = cluster_of({"one": read(text), "two": with_login(name, text)})
    resolution, findings = resolved(machines, Options("nccl", (2, 27, 7)))
    differing = [result.observed for result in findings if "the same as on the head" in result.expected]
    assert differing == [
        "CUDA_DEVICE_ORDER=PCI_BUS_ID (login)",
        "NCCL_DEBUG=INFO (login)",
        "NCCL_IB_DISABLE=1 (login)",
        "NCCL_IB_GID_INDX=3 (login)",
        "NCCL_IB_TIMEOUT=23 (/home/ann/.nccl.conf)",
    ]
    shown = {item.name: (item.origin, item.reason) for item in resolution.nodes["two"].variables}
    assert shown["NCCL_DEBUG"] == ("login", "instead of WARN from /etc/nccl.conf")
    assert shown["NCCL_SOCKET_IFNAME"][1].endswith("; instead of eth9 from login")


def test_unlike_machines_do_not_fit_together() -> None:
    def text(name: str) -> str:
        return (Path(MACHINES) / f"{name}.yml").read_text(encoding="utf-8")

    for other in ("half_ports_down", "hgx_h100_roce", "gb200"):
        machines = cluster_of({"one": read(text("dgx_h100_ib")), "two": read(text(other))})
        _resolution, findings = resolved(machines, Options("nccl", (2, 27, 7)))
        assert ("rdma ports", "fail") in [(result.check, result.status) for result in findings]
