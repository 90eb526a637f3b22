# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `openshift`: the pods that are the nodes, as `setup` deploys them and `teardown` removes them.

kubernetes.core reads and writes the objects, by what these steps conclude. `scale.py` has the verb of that name.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError, display
from .._pods.changes import differences, fixed_changes, patch_of
from .._pods.manifest import labels_of, make_objects
from .._pods.policy import NAMES, Policy, read_policy
from .._pods.waiting import PodProblem, PodState, judge_pods, problems_of_events
from .._results.infos import read_infos
from .._text.plain import plain
from .._text.table import node_names
from .step import Conclude, Conclusion, Play

CONTROLLER = "localhost"
STANDING, NAMESPACE, APPLIED = "openshift__standing", "openshift__namespace", "openshift__applied"
SET, PODS, EVENTS, CLAIMS = "openshift__set", "openshift__pods", "openshift__events", "openshift__claims"
TRIAL, IMAGE = "openshift__trial", "openshift_image"
COLLECTION = "ansible_collections.kubernetes.core"
NO_HOST = "all:!all"  # as a pattern
TEMPLATE = "spec.template"
STOP_GRACE = "launch_stop_grace"
STATEFUL_SET, CLAIM = "StatefulSet", "PersistentVolumeClaim"


def pod_problems(verb: str, has_pods: bool, is_of_nodes: bool) -> list[str]:
    """Return why this controller cannot make, scale or remove pods; before a file of tasks needs what it lacks.

    has_pods: the cluster has the policy of pods; is_of_nodes: it is set, maybe for the nodes alone.
    """
    if has_pods:
        if _is_importable(COLLECTION):
            return []
        return [
            "the controller lacks the collection kubernetes.core, which deploys pods, expected version 6 or newer; "
            "install it: ansible-galaxy collection install kubernetes.core"
        ]
    if is_of_nodes:
        return [
            f"{IMAGE}: it is set for the nodes, expected it for all hosts, because there may be no node yet; move the "
            "variables of the role openshift to group_vars/all.yml"
        ]
    if verb == "scale":
        return [f"{IMAGE}: it is not set, expected a cluster of pods; scale changes nothing else"]
    return []


def _is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of a package around it
        return False


@Conclude
def read(play: Play) -> Conclusion:
    """Read the policy of the deployment; the result has what its objects are found by."""
    policy = policy_of(play)
    if importlib.util.find_spec("kubernetes") is None:
        raise UserError(
            "the controller lacks the Python package kubernetes, which kubernetes.core needs to deploy pods; install "
            "it for the Python that runs ansible-playbook: python -m pip install kubernetes"
        )
    selector = [f"{name}={value}" for name, value in labels_of(policy).items()]
    return Conclusion(result={"namespace": policy.namespace, "name": policy.name, "selector": selector})


@Conclude
def plan(play: Play) -> Conclusion:
    """Plan what the server is asked for; refuse what Kubernetes would not change."""
    policy, standing = policy_of(play), standing_set(play)
    *others, wanted = make_objects(policy, _stop_grace_s(play))
    changes = fixed_changes(wanted, standing) if standing else []
    active = _active_nodes(play) if standing and not play.is_checked else []
    if changes and not policy.recreate:
        first = changes[0]
        raise UserError(
            f"StatefulSet {policy.namespace}/{policy.name}: {first.path} is {display(first.observed)}, expected "
            f"{display(first.wanted)}; Kubernetes does not change it. Correct the inventory, or give -e "
            "openshift_recreate=true: the StatefulSet is removed and created again, and pods and volumes stay as they "
            "are (a volume that exists keeps its size)"
        )
    if changes and active:
        raise _active_error(active, "the StatefulSet would be created again", "setup")
    patch = patch_of(wanted, None if changes else standing)
    if standing is None or changes:  # else the number that it was scaled to stays
        patch["spec"]["replicas"] = standing["spec"]["replicas"] if standing else policy.replicas
    # A server's dry run knows no namespace that it has not created.
    is_missing = play.is_checked and policy.create_namespace and not _resources(play, NAMESPACE)
    objects, lines = [*others, patch], []
    if is_missing:
        lines = [f"would then create in {policy.namespace}: {', '.join(item['kind'] for item in objects[1:])}"]
        objects = objects[:1]
    elif play.is_checked and changes:  # which its dry run would refuse
        lines = [f"would remove StatefulSet {policy.namespace}/{policy.name} without its pods, and create it again"]
        objects = others
    return Conclusion(
        lines=list(map(clean, lines)),
        result={"objects": objects, "removes": bool(changes) and not play.is_checked, "tries": bool(active)},
    )


@Conclude
def guard(play: Play) -> Conclusion:
    """Refuse to replace pods on which a run is active; the server's dry run says whether it would."""
    before, after = standing_set(play), as_dict(as_dict(plain(play.read_answer(CONTROLLER, TRIAL))).get("result"))
    templates = [as_dict(as_dict(item).get("spec")).get("template") for item in (before, after)]
    if templates[0] != templates[1]:
        former, new = templates
        changes = [*differences(new, former, TEMPLATE), *differences(former, new, TEMPLATE)]
        paths = ", ".join(dict.fromkeys(change.path for change in changes)) or TEMPLATE  # another order
        raise _active_error(_active_nodes(play), f"its pods would be replaced ({paths} changes)", "setup")
    return Conclusion()


@Conclude
def compare(play: Play) -> Conclusion:
    """Compare what the server has with what it was asked for: it drops a field that it does not know, silently."""
    wanted = make_objects(policy_of(play), _stop_grace_s(play))
    results = as_dict(plain(play.read_answer(CONTROLLER, APPLIED))).get("results") or ()
    observed = {_key(item): item for item in (as_dict(as_dict(result).get("result")) for result in results)}
    lines = [
        f"{item['kind']} {item['metadata']['name']}: {change.path}: expected {display(change.wanted)}, the server has "
        + ("nothing" if change.observed is None else display(change.observed))
        for item in wanted
        if _key(item) in observed
        for change in differences(item, observed[_key(item)])
    ]
    if lines:
        last = "the cluster does not know such a field, or changes it; correct it (kubectl explain KIND has the fields)"
        raise UserError("\n".join(map(clean, [*lines, last])))
    return Conclusion()


@Conclude
def judge(play: Play) -> Conclusion:
    """Report the pods, or why they are not ready."""
    policy, state, replicas = policy_of(play), pod_state(play), pod_count(play)
    if len(state.ready) < replicas or state.left:
        raise UserError(f"{missed(play, state, replicas)}; correct that, and run setup again")
    where = f"StatefulSet {policy.namespace}/{policy.name}"
    return Conclusion(lines=[clean(f"{where}: {node_names(state.ready) if replicas else 'no pod'} ready")])


@Conclude
def removal(play: Play) -> Conclusion:
    """Plan what to remove: everything but the volumes, and those only where they were asked for."""
    policy, volumes = policy_of(play), bool(play.parameters["volumes"])
    if active := _active_nodes(play):
        raise _active_error(active, "it would end with its pods", "teardown")
    objects = [
        {name: item[name] for name in ("apiVersion", "kind")} | {"metadata": _identity(item)}
        for item in reversed(make_objects(policy, 0))
        # A namespace may hold what is not Muster's; the claims are removed by their label, with those of the pods.
        if item["kind"] not in (CLAIM, "Namespace")
    ]
    return Conclusion(result={"objects": objects, "volumes": volumes})


@Conclude
def report_removal(play: Play) -> Conclusion:
    """Report what was removed, and the volumes that stay."""
    policy, volumes = policy_of(play), bool(play.parameters["volumes"])
    claims = [_name(claim) for claim in _resources(play, CLAIMS)]
    done = "would go" if play.is_checked else "gone"
    lines = [f"StatefulSet {policy.name} of {policy.namespace}: {done}"]
    if claims:
        stay = "" if volumes else "; -e volumes=true removes them"
        lines.append(f"volumes {', '.join(claims)}: {done if volumes else 'kept'}{stay}")
    return Conclusion(lines=list(map(clean, lines)))


def policy_of(play: Play) -> Policy:
    """Return the policy of the deployment, with the mode that the verb was given."""
    policy = play.read_policy(NAMES)
    mode = play.request["parameters"].get("mode")
    if mode is not None and mode["layer"] != "default":
        policy["openshift_mode"] = mode["value"]
    return read_policy(policy)


def standing_set(play: Play, name: str = STANDING) -> dict[str, Any] | None:
    """Return the StatefulSet as the server has it, None if there is none."""
    return next(iter(_resources(play, name)), None)


def pod_count(play: Play) -> int:
    """Return how many pods the StatefulSet is asked to have."""
    return int((standing_set(play, SET) or {}).get("spec", {}).get("replicas") or 0)


def pod_state(play: Play) -> PodState:
    """Return how far the pods were when the waiting for them ended."""
    revision = as_dict((standing_set(play, SET) or {}).get("status")).get("updateRevision")
    return judge_pods(_resources(play, PODS), policy_of(play).name, pod_count(play), revision)


def missed(play: Play, state: PodState, replicas: int) -> str:
    """Return which pods are not as they were asked for, and what the cluster says about each."""
    policy = policy_of(play)
    wanted = [f"{policy.name}-{ordinal}" for ordinal in range(replicas)]
    late = [pod for pod in wanted if pod not in state.ready]
    claims = [f"workspace-{pod}" for pod in late]
    events = problems_of_events(_resources(play, EVENTS), policy.name, late, claims)
    subjects = {problem.subject for problem in state.problems}
    problems: list[PodProblem] = [*state.problems, *(event for event in events if event.subject not in subjects)]
    head = f"StatefulSet {policy.namespace}/{policy.name}: {len(state.ready)} of {replicas} pods ready"
    if not late:
        head += f", {node_names(state.left)} not gone"
    return "\n".join(clean(line) for line in [head, *(problem.line() for problem in problems)])


def _stop_grace_s(play: Play) -> int:
    """Return how long a stop gives the ranks, by the policy of the nodes, of which there may be none yet."""
    nodes = play.groups.get("nodes") or ()
    values = play.read_values(nodes[0], [STOP_GRACE]) if nodes else play.read_group("nodes", [STOP_GRACE])
    return int(values.get(STOP_GRACE) or play.launch_defaults[STOP_GRACE])


def _active_nodes(play: Play) -> list[str]:
    """Return the nodes on which a run is active; one that does not answer has none that could be stopped."""
    nodes = play.groups.get("nodes") or ()
    infos = read_infos((str(node), plain(play.read_answer(node, "launch__info"))) for node in nodes)
    return [info.node for info in infos if any(run.alive for run in info.runs)]


def _active_error(nodes: Sequence[str], why: str, verb: str) -> UserError:
    return UserError(
        clean(f"{node_names(nodes)}: a run is active, expected none, because {why}; stop it, then run {verb} again")
    )


def _resources(play: Play, name: str) -> list[dict[str, Any]]:
    """Return the objects that a task of k8s_info has found."""
    items = as_dict(plain(play.read_answer(CONTROLLER, name))).get("resources")
    return [as_dict(item) for item in items] if isinstance(items, list) else []


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    return str(item.get("kind")), _name(item)


def _name(item: Mapping[str, Any]) -> str:
    return str(as_dict(item.get("metadata")).get("name"))


def _identity(item: Mapping[str, Any]) -> dict[str, str]:
    return {name: item["metadata"][name] for name in ("name", "namespace") if name in item["metadata"]}
