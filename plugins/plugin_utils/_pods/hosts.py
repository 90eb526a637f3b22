# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a StatefulSet as an inventory: one host for each ordinal, and what a launch there needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError, display
from .command import Client, RunClient, variable
from .objects import Pod, StatefulSet, parse_objects

# A user without a name or a home, as OpenShift gives a pod, can write here.
REMOTE_TMP = "/tmp/.ansible"


@frozen
class PodHosts:
    """The hosts with their variables, head first, and the variables of all of them.

    note says why there are no hosts; warnings name the pods that do not run.
    """

    hosts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    warnings: Sequence[str] = ()


def find_hosts(client: Client, statefulset: str, container: str, run: RunClient) -> PodHosts:
    """Return the pods of a StatefulSet, by default of the only one of the namespace; raise UserError without an answer.

    A pod that is lost, or not there yet, keeps its place: the node ranks of the others must not change.
    """
    sets, pods = parse_objects(client.ask(run, "get", "statefulsets,pods", "--output=json"))
    wanted = [item for item in sets if statefulset in ("", item.name)]
    if not wanted:
        return PodHosts(note=_describe_absence(client, statefulset, sets))
    if len(wanted) > 1:
        names = ", ".join(sorted(clean(item.name) for item in wanted))
        raise UserError(f"the namespace has the StatefulSets {names}: expected one; set statefulset in the inventory")
    [chosen] = wanted
    if not chosen.replicas:
        scale = f"{' '.join(client.words())} scale statefulset {clean(chosen.name)} --replicas=N"
        return PodHosts(note=f"the StatefulSet {clean(chosen.name)} has 0 replicas: give it some ({scale})")
    by_ordinal = {pod.ordinal: pod for pod in pods if pod.owner == chosen.uid and not pod.terminating}
    hosts, warnings = {}, []
    for ordinal in chosen.ordinals:
        name, pod = f"{chosen.name}-{ordinal}", by_ordinal.get(ordinal)
        hosts[name] = _variables(client, chosen, name, pod)
        if pod is None or pod.phase != "Running":
            warnings.append(f"the pod {clean(name)} {describe_obstacle(pod)}")
    common = {
        **client.variables(container),
        "ansible_remote_tmp": REMOTE_TMP,
        **({"launch_head_address": _name_of(chosen, next(iter(hosts)))} if chosen.service else {}),
    }
    return PodHosts(hosts, common, warnings=warnings)


def describe_obstacle(pod: Pod | None) -> str:
    """Return why a pod does not run, to be read after its name."""
    if pod is None:
        return "does not exist now: it was deleted, or is not made yet"
    return f"does not run ({pod.phase or 'no phase'}{f', {clean(pod.waits_for)}' if pod.waits_for else ''})"


def _name_of(chosen: StatefulSet, pod: str) -> str:
    """Return the name of a pod in its headless service: it stays when the pod is replaced, and its address does not.

    The resolver of a pod adds the cluster's domain (ndots:5), which is not always cluster.local.
    """
    return f"{pod}.{chosen.service}.{chosen.namespace}.svc"


def _variables(client: Client, chosen: StatefulSet, name: str, pod: Pod | None) -> dict[str, Any]:
    variables: dict[str, Any] = {variable(client.binary, "pod"): name}
    if chosen.service:
        variables["ansible_host"] = _name_of(chosen, name)
    if pod is None:
        return {**variables, "pod_ready": False}
    networks = [
        {"name": item.name, "interface": item.interface, "addresses": item.addresses, "pci": item.pci}
        for item in pod.networks
    ]
    return {
        **variables,
        "pod_ready": pod.ready,
        "pod_phase": pod.phase,
        "pod_node": pod.node,
        "pod_addresses": pod.addresses,
        "pod_networks": networks,
    }


def _describe_absence(client: Client, statefulset: str, sets: Sequence[StatefulSet]) -> str:
    where = f"the namespace {client.namespace}" if client.namespace else "the namespace of the current context"
    others = ", ".join(sorted(clean(item.name) for item in sets))
    saw = f"; it has {others}" if others else ""
    which = f"StatefulSet {display(statefulset)}" if statefulset else "StatefulSet"
    return f"there is no {which} in {where}{saw}: deploy one (docs/openshift.md), or correct the inventory"
