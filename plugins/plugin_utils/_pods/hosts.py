# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a StatefulSet as an inventory: one host for each ordinal, and what a launch there needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.command_end import RunLimited
from .._findings.errors import UserError, display
from .command import Client, variable
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


def find_hosts(client: Client, statefulset: str, container: str, run: RunLimited) -> PodHosts:
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
    by_ordinal = {pod.ordinal: pod for pod in pods if pod.owner == chosen.uid}
    hosts, warnings = {}, []
    for ordinal in chosen.ordinals:
        name, pod = f"{chosen.name}-{ordinal}", by_ordinal.get(ordinal)
        hosts[name] = _variables(client, chosen, name, pod)
        if obstacle := describe_obstacle(client, name, pod):
            warnings.append(f"the pod {clean(name)} {obstacle}")
    common = {
        **client.variables(container),
        "ansible_remote_tmp": REMOTE_TMP,
        **({"launch_head_address": _name_of(chosen, next(iter(hosts)))} if chosen.service else {}),
    }
    return PodHosts(hosts, common, warnings=warnings)


def describe_obstacle(client: Client, name: str, pod: Pod | None) -> str:
    """Return why a pod does not run, to be read after its name; empty for one that runs, ready or not.

    A pod whose container is started again and again has the phase Running (Kubernetes, Pod Lifecycle). On a lost node
    one stays until it is deleted by force: a StatefulSet makes no second pod of a name that a node may still run.
    """
    if pod is None:
        return "does not exist now: it was deleted, or is not made yet"
    if pod.terminating:
        force = f"{' '.join(client.words())} delete pod {clean(name)} --grace-period=0 --force"
        node = f" on the node {clean(pod.node)}" if pod.node else ""
        return f"is being deleted{node}, and made again after that; where the node is lost, delete it by force: {force}"
    if pod.phase == "Running" and (pod.ready or not pod.waits_for):
        return ""
    phase = "" if pod.phase == "Running" else pod.phase or "no phase"
    return f"does not run ({clean(', '.join(filter(None, (phase, pod.waits_for))))})"


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
    return f"there is no {which} in {where}{saw}: deploy one (docs/openshift-deploy.md), or correct the inventory"
