# SPDX-License-Identifier: GPL-3.0-or-later
"""`scale`: another number of pods. Where the cluster cannot give them, it gets the former number back."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError
from .._text.table import node_names
from .openshift import CONTROLLER, missed, pod_state, policy_of, standing_set
from .step import Conclude, Conclusion, Play

PLAN, OUTCOME = "openshift__plan", "openshift__outcome"


@Conclude
def plan(play: Play) -> Conclusion:
    """Read how many pods there are to be, and how many there are."""
    policy, standing, replicas = policy_of(play), standing_set(play), play.parameters["replicas"]
    where = f"StatefulSet {policy.namespace}/{policy.name}"
    if standing is None:
        raise UserError(f"{where}: it does not exist, expected one to scale; deploy it with setup")
    former = int(standing["spec"].get("replicas") or 0)
    would = f"{where} would be scaled from {former} to {replicas}"
    return Conclusion(
        lines=[would] if play.is_checked else [],
        document=_document(play, former, replicas, []),
        result={"replicas": replicas, "former": former},
    )


@Conclude
def judge(play: Play) -> Conclusion:
    """Decide whether the former number has to come back."""
    state, wanted = pod_state(play), play.read_answer(CONTROLLER, PLAN)
    replicas, former = int(wanted["replicas"]), int(wanted["former"])
    is_missed = len(state.ready) < replicas
    why = missed(play, state, replicas) if is_missed or state.left else None
    return Conclusion(result={"restored": former if is_missed and former != replicas else None, "why": why})


@Conclude
def report(play: Play) -> Conclusion:
    """Report the pods; fail where they are not as many as were asked for."""
    policy, state = policy_of(play), pod_state(play)
    wanted, outcome = play.read_answer(CONTROLLER, PLAN), play.read_answer(CONTROLLER, OUTCOME)
    former, replicas = int(wanted["former"]), int(wanted["replicas"])
    if outcome["why"] is not None:
        back = f"\nit has {former} replicas again, as before" if outcome["restored"] is not None else ""
        failure = UserError(clean_lines(f"{outcome['why']}{back}"))
        return Conclusion(document=_document(play, former, former, state.ready[:former]), failure=failure)
    ready = f": {node_names(state.ready)}" if state.ready else ""
    return Conclusion(
        lines=[clean(f"StatefulSet {policy.namespace}/{policy.name} has {replicas} pods (before: {former}){ready}")],
        document=_document(play, former, replicas, state.ready),
    )


def clean_lines(text: str) -> str:
    """Return printable lines."""
    return "\n".join(map(clean, text.splitlines()))


def _document(play: Play, former: int, replicas: int, pods: Any) -> dict[str, Any]:
    policy = policy_of(play)
    return {
        "namespace": policy.namespace,
        "statefulset": policy.name,
        "former": former,
        "replicas": replicas,
        "pods": list(pods),
    }
