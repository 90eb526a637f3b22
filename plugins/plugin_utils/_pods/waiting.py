# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the pods of a StatefulSet are there, and if not, why: what scheduler, kubelet and quota say of them.

Pure functions of what the API server answers; whatever it is, they do not raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

# Why a container waits while all is well; every other reason is a problem.
NORMAL = ("ContainerCreating", "PodInitializing", "")
REVISION = "controller-revision-hash"


@frozen
class PodProblem:
    """Why a pod is not ready; subject is the object that says so, such as ``pod muster-1``."""

    subject: str
    reason: str
    message: str

    def line(self) -> str:
        return f"{self.subject}: {self.reason}{f': {self.message}' if self.message else ''}"


@frozen
class PodState:
    """How far the pods are; left are pods that still have to go, and starting those without a problem so far.

    going are those of left that end now; the others wait until a pod of the new template is ready. created is when the
    newest pod was created, in seconds since the epoch, None without one.
    """

    ready: Sequence[str]
    starting: Sequence[str]
    left: Sequence[str]
    going: Sequence[str]
    problems: Sequence[PodProblem]
    created: float | None = None


def judge_pods(pods: object, name: str, replicas: int, revision: str | None = None) -> PodState:
    """Judge the pods of a StatefulSet of this name; an earlier revision of its template has to go."""
    wanted = [f"{name}-{ordinal}" for ordinal in range(replicas)]
    known = {_name(pod): pod for pod in _items(pods)}
    current = {pod for pod in wanted if pod in known and _is_current(known[pod], revision)}
    ready = [pod for pod in wanted if pod in current and _condition(known[pod], "Ready").get("status") == "True"]
    problems = {pod: _problem(known[pod]) for pod in wanted if pod in known and pod not in ready}
    left = [pod for pod in known if pod not in current]
    times = [seconds_of(as_dict(pod.get("metadata")).get("creationTimestamp")) for pod in known.values()]
    return PodState(
        ready,
        [pod for pod in wanted if pod in current and pod not in ready and problems[pod] is None],
        left,
        [pod for pod in left if pod not in wanted or as_dict(known[pod].get("metadata")).get("deletionTimestamp")],
        [problem for problem in problems.values() if problem is not None],
        max((time for time in times if time is not None), default=None),
    )


def is_settled(state: PodState, replicas: int, waited_s: float, patience_s: float, now: float) -> bool:
    """Whether waiting longer is of no use: all are ready, or nothing moves, as at first a volume is not bound.

    now is in seconds since the epoch. Pods are replaced one by one, so the newest may be younger than the wait.
    """
    if len(state.ready) == replicas and not state.left:
        return True
    if waited_s < patience_s or state.going or state.starting:
        return False
    if state.left and not state.problems:  # the next one is about to be replaced
        return False
    return state.created is None or now - state.created >= patience_s


def problems_of_events(events: object, name: str, pods: Iterable[str], claims: Iterable[str] = ()) -> list[PodProblem]:
    """Return the newest warning about the StatefulSet, and about each of these pods and claims."""
    subjects = {
        ("StatefulSet", name): f"StatefulSet {name}",
        **{("Pod", pod): f"pod {pod}" for pod in pods},
        **{("PersistentVolumeClaim", claim): f"claim {claim}" for claim in claims},
    }
    newest: dict[str, tuple[str, PodProblem]] = {}
    for event in _items(events):
        about = as_dict(event.get("involvedObject"))
        subject = subjects.get((str(about.get("kind")), str(about.get("name"))))
        if subject is None or event.get("type") != "Warning":
            continue
        when = str(event.get("lastTimestamp") or event.get("eventTime") or "")
        problem = PodProblem(subject, str(event.get("reason")), _one_line(event.get("message")))
        if subject not in newest or when >= newest[subject][0]:
            newest[subject] = when, problem
    return [problem for _when, problem in newest.values()]


def _items(value: object) -> list[dict[str, Any]]:
    return [as_dict(item) for item in value] if isinstance(value, list) else []


def _name(pod: Mapping[str, Any]) -> str:
    return str(as_dict(pod.get("metadata")).get("name"))


def _is_current(pod: Mapping[str, Any], revision: str | None) -> bool:
    metadata = as_dict(pod.get("metadata"))
    is_old = revision is not None and as_dict(metadata.get("labels")).get(REVISION) != revision
    return not is_old and not metadata.get("deletionTimestamp")


def _condition(pod: Mapping[str, Any], kind: str) -> dict[str, Any]:
    conditions = _items(as_dict(pod.get("status")).get("conditions"))
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _problem(pod: Mapping[str, Any]) -> PodProblem | None:
    """Return what the scheduler or the kubelet reports of a pod, None if it is on its way."""
    subject = f"pod {_name(pod)}"
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return PodProblem(subject, str(scheduled.get("reason")), _one_line(scheduled.get("message")))
    status = as_dict(pod.get("status"))
    for state in (*_items(status.get("initContainerStatuses")), *_items(status.get("containerStatuses"))):
        waiting = as_dict(as_dict(state.get("state")).get("waiting"))
        if str(waiting.get("reason") or "") not in NORMAL:
            return PodProblem(subject, str(waiting["reason"]), _one_line(waiting.get("message")))
        ended = as_dict(as_dict(state.get("state")).get("terminated"))
        if ended:
            return PodProblem(subject, str(ended.get("reason")), f"exit code {ended.get('exitCode')}")
    return None


def _one_line(text: object) -> str:
    return " ".join(str(text or "").split())
