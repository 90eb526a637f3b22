# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of the fabric and the environment of nodes: tests/screens/messages/nccl.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_ENV, LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._nccl import variable_layers
from ansible_collections.muster.train.plugins.plugin_utils._nccl.known_variables import fault
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import resolve
from ansible_collections.muster.train.plugins.plugin_utils._nccl.tuning import limit_findings
from ansible_collections.muster.train.tests.support.plan_parts import nodes, settings
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, MUST_RDMA, reasons, view
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._nccl import (
    test_environments,
    test_gid,
    test_hcas,
    test_known_variables,
    test_libraries,
    test_resolver,
    test_topology,
    test_transport,
    test_tuning,
    test_variable_layers,
)

CASES = {
    "environment": test_environments.CASES,
    "library": test_libraries.CASES,
    "topology file": test_topology.CASES,
}


def of_variables() -> Iterator[Message]:
    """Why variables are set, left to NCCL or refused, and which numbers and names the libraries do not take."""
    yield "left to NCCL", [f"{name}  # {why}" for name, why in reasons(view(hcas=test_resolver.EIGHT)).items()]
    on = nodes(2, gpu=test_environments.NVIDIA, hcas=test_environments.HCAS)
    of_user = test_environments.environments(on, {"NCCL_IB_HCA": "=mlx5_bond_0"})
    yield "GID index of the RoCE port that a user chose", [test_environments.reason_of_gid(of_user)]
    yield "GPUDirect without its module", [reasons(test_resolver.WITHOUT_PEERMEM)["NCCL_NET_GDR_LEVEL"]]
    yield "topology file: known to NCCL", [reasons(test_topology.KNOWN_TO_NCCL)[test_topology.NAME]]
    transports = [test_transport.GOOD, test_transport.DEAD, []]
    yield "NCCL_IB_DISABLE", [reasons(view(hcas=hcas), MUST_RDMA)["NCCL_IB_DISABLE"] for hcas in transports]
    layers = test_variable_layers
    yield "replaced", [variable.reason for variable in variable_layers.merge(layers.REPLACED)]
    yield "cores", [variable_layers.of_the_machine(cpus, ranks)[0].reason for cpus, ranks, _threads in layers.CORES]
    refused = [variable_layers.user_layer({name: value}, LAUNCH_NODE_ENV, "node1") for name, value in layers.REFUSED]
    refused += [variable_layers.user_layer(values, LAUNCH_ENV, None) for values in layers.NO_MAPPINGS]
    yield "refused", [line for _layer, findings in refused for line in lines(findings)]
    yield "inherited", lines(variable_layers.inherited_layer(layers.INHERITED, layers.CONF, "node1")[1])
    limits = (limit_findings(settings(**{name: n}), library, "node0") for name, n, library, _w in test_tuning.LIMITS)
    yield "limits", [line for findings in limits for line in lines(findings)]
    names = (f"{name}: {fault(name, library)}" for name, library, _part in test_known_variables.NOT_READ)
    yield "names", names


def messages() -> Iterator[Message]:
    for name, (policy, views, _fabric, _statuses) in test_transport.DECIDED.items():
        decided = resolve(views, policy)
        yield f"fabric: {name}", [f"{decided.fabric.value}  # {decided.fabric.reason}", *lines(decided.findings)]
    for name, (node, _expected) in test_hcas.REASONS.items():
        yield f"devices: {name}", [reasons(node)["NCCL_IB_HCA"]]
    yield from ((f"devices: {name}", lines(test_hcas.findings(*of))) for name, (of, _status) in test_hcas.FOUND.items())
    for name, (hcas, of_node, _found) in test_gid.FOUND.items():
        yield f"GIDs: {name}", lines(test_gid.decide(*hcas, **of_node)[1])
    yield "GIDs: nodes of two families", lines(resolve(test_gid.OF_TWO_FAMILIES, AUTO).findings)
    yield "interface: a faster one", lines(test_resolver.over_tcp(**test_resolver.SPEEDS))
    for subject, cases in CASES.items():
        yield from ((f"{subject}: {case.name}", lines(case.find())) for case in cases)
    yield from of_variables()


def test_what_is_said_of_the_fabric() -> None:
    text = page_of(messages())
    assert text == kept("messages/nccl.txt", text)
