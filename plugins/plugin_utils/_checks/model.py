# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks receive and what they return.

A check is a pure function of a `Cluster`. It returns an outcome for every node that answered, a pass included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import APPTAINER
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.connections import TriedConnection
from .._cluster.node import Node, NodeAnswer, Silent, UserLayer
from .._cluster.policy import ClusterPolicy
from .._cluster.profilers import input_of, profiler_of
from .._cluster.script import is_program_name
from .._findings.finding import Finding, Status
from .._findings.invocation import Invocation
from .._findings.origin import LAUNCH_DEFAULTS
from .._findings.remedy import NODE_WARNINGS, Remedy
from .._nccl.environments import Users, decide_for
from .._nccl.gid_table import Network
from .policy import BY_DEFAULT, CheckPolicy

NO_GPU = "there is no GPU"
IN_CONTAINER = "the ranks run in containers"


@frozen
class Launch:
    """The parameters of a launch on which checks depend, and how the user called the verb."""

    launcher: str = "torchrun"
    port: int | None = None
    port_origin: str = "default"
    nonce: str = "0"
    restarts: int = 0
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    profiler: str | None = None
    invocation: Invocation = field(default_factory=Invocation)

    @classmethod
    def by_default(cls, defaults: Mapping[str, Any], invocation: Invocation) -> Launch:
        """Return a launch without parameters, with these launch_defaults; a real launch refuses what is wrong there."""
        port, label = str(defaults.get("master_port") or ""), LAUNCH_DEFAULTS.label
        launcher = str(defaults.get("launcher") or "torchrun")
        files = {kind: (str(defaults[kind]), label) for kind in ("script", "config") if defaults.get(kind)}
        if path := input_of(defaults):
            files["rocprof_input"] = (path, label)
        if is_program_name(launcher, defaults.get("script")):
            files.pop("script")
        return cls(
            launcher=launcher,
            port=int(port) if port.isdigit() else None,
            port_origin=label,
            files=files,
            profiler=profiler_of(defaults),
            invocation=invocation,
        )


@frozen
class Cluster:
    """The nodes that answered in node-rank order, by name; silent: why the others did not.

    layers are the environment of all ranks, received is the controller's clock when the last answer arrived. decided
    are the findings of the environment's rules over these nodes, with the adapters, GIDs and networks that they chose.
    connections are those that other nodes began to a node, by its name.
    """

    nodes: Mapping[str, Node]
    silent: Mapping[str, Silent] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    checks: CheckPolicy = BY_DEFAULT
    policy: ClusterPolicy = field(default_factory=ClusterPolicy)
    launch: Launch = field(default_factory=Launch)
    received: float | None = None
    decided: Sequence[Finding] = ()
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gids: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    networks: Mapping[str, Mapping[str, Network]] = field(default_factory=dict)
    fabric: str | None = None
    connections: Mapping[str, tuple[TriedConnection, ...]] = field(default_factory=dict)
    layers: Sequence[UserLayer] = ()

    @property
    def facts(self) -> dict[str, NodeFacts]:
        return {name: node.facts for name, node in self.nodes.items()}

    @property
    def on_host(self) -> bool:
        """Whether the ranks use the interpreter and the packages of the host."""
        return self.policy.runtime == "host"

    @property
    def in_engine(self) -> bool:
        """Whether the runner and its ranks are in a container of an engine, which gives them limits and devices."""
        return self.policy.runtime == "docker"

    @property
    def in_image(self) -> bool:
        """Whether a runner on the host starts the ranks in an image of Apptainer."""
        return self.policy.runtime == APPTAINER

    def environment(self, node: Node) -> dict[str, Any]:
        """Return what users set for the ranks of a node."""
        layers = [values for values, _origin in (*self.layers, *node.layers) if isinstance(values, Mapping)]
        return {str(name): value for values in layers for name, value in values.items()}

    def with_answers(self, answers: Sequence[NodeAnswer], users: Users) -> Cluster:
        """Return this cluster with the nodes that answered and what the environment's rules decide for them."""
        decision, findings = decide_for(answers, self.policy, users)
        nodes = {answer.name: answer for answer in answers if isinstance(answer, Node)}
        environments = decision.nodes if decision else {}
        return dataclasses.replace(
            self,
            nodes=nodes,
            silent={answer.name: answer for answer in answers if isinstance(answer, Silent)},
            addresses={answer.name: answer.address for answer in answers},
            layers=users.cluster,
            decided=tuple(item for item in dict.fromkeys(findings) if item.node is None or item.node in nodes),
            chosen={name: tuple(environment.hcas) for name, environment in environments.items()},
            gids={name: environment.gids for name, environment in environments.items()},
            networks={name: environment.networks for name, environment in environments.items()},
            fabric=decision.fabric.value if decision else None,
        )


@frozen
class Outcome:
    """The result of a check for a node or the cluster: a finding without the names of check and node."""

    status: Status
    observed: str
    expected: str = ""
    source: str = ""
    remedy: Remedy | str = ""

    @classmethod
    def of(cls, finding: Finding) -> Outcome:
        return cls(finding.status, finding.observed, finding.expected, finding.source, finding.remedy)


Outcomes = Iterable[tuple[str | None, Outcome]]  # by node, None for the whole cluster
Judge = Callable[[Cluster], Outcomes]
NodeJudge = Callable[[Node, Cluster], Outcome | Iterable[Outcome]]


def passed(observed: str, source: str = "", expected: str = "") -> Outcome:
    return Outcome("pass", observed, expected, source)


def failed(observed: str, expected: str, source: str, remedy: Remedy | str) -> Outcome:
    return Outcome("fail", observed, expected, source, remedy)


def skipped(observed: str) -> Outcome:
    """Return that the check does not apply here."""
    return Outcome("skip", observed)


def unavailable(observed: str, subset: str, why: str | None = "", remedy: Remedy | str = NODE_WARNINGS) -> Outcome:
    """Return that it could not be checked, because this subset of facts is missing."""
    return Outcome("error", f"{observed}: {why}" if why else observed, "", f"facts {subset}", remedy)


def on_nodes(judge: NodeJudge) -> Judge:
    """Make a check of a function that judges one node."""

    def judge_all(cluster: Cluster) -> Outcomes:
        for node in cluster.nodes.values():
            result = judge(node, cluster)
            for outcome in [result] if isinstance(result, Outcome) else result:
                yield node.name, outcome

    return judge_all


def completed(cluster: Cluster, outcomes: Outcomes, otherwise: Callable[[Node], Outcome]) -> Outcomes:
    """Return the outcomes and, for each node without one, the result of `otherwise`."""
    names = set()
    for name, outcome in outcomes:
        names.add(name)
        yield name, outcome
    for node in cluster.nodes.values():
        if node.name not in names:
            yield node.name, otherwise(node)
