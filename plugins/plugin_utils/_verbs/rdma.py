# SPDX-License-Identifier: GPL-3.0-or-later
"""`rdma`: every node is asked once for all that RDMA depends on, and each section of the report is judged by checks.

The checks are those of preflight. Nodes that are alike share a report. It is printed, and written as a page and, beside
it, as JSON. The verb fails only if a node did not answer.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .._checks.model import Cluster, Launch
from .._checks.registry import run
from .._checks.variables import VARIABLES as CHECK_VARIABLES
from .._checks.variables import read_checks
from .._cluster.node import Silent
from .._cluster.policy import NAMES, OF_CONTAINER, OF_LIBRARY, ClusterPolicy
from .._cluster.silence import why_silent
from .._detect.detected import detect
from .._detect.rdma.page import render as render_page
from .._detect.rdma.report import RdmaReport, report_on
from .._detect.rdma.text import render
from .._findings.finding import PlanError
from .._findings.invocation import Invocation
from .._nccl.environments import users_of
from .._request.standing import standing
from .._text.plain import plain
from .answers import read_node_answers
from .detect import report_files
from .find import launch_policy
from .step import Conclude, Conclusion, Play, ask

FACTS = "detect__rdma"  # as the role registers them
ASKED = ("launch_workdir", "launch_code_dir", "launch_python", "launch_docker")
SUBSET = (
    *("rdma", "gpu", "net", "limits", "container", "versions", "kernel", "inherited"),
    *("devices", "interfaces", "engine", "gpu_health", "rdma_health", "services"),
)


@ask("node_facts")
def gather_facts(play: Play, _host: str) -> dict[str, Any]:
    """Ask a node for its adapters, and for all that they depend on."""
    policy = launch_policy(play, ASKED)
    return {**{name.removeprefix("launch_"): value for name, value in policy.items()}, "subset": list(SUBSET)}


@Conclude
def report(play: Play) -> Conclusion:
    """Show the report of each kind of node; a node that did not answer fails the verb."""
    variables = play.read_policy((*NAMES, *OF_CONTAINER, *OF_LIBRARY, *CHECK_VARIABLES))
    policy, faults = ClusterPolicy.read(variables)
    checks, refused = read_checks(variables)
    if faults or refused:
        return Conclusion(failure=PlanError([*faults, *refused]))
    answers = read_node_answers(play, FACTS)
    head = play.read_values(play.request["nodes"][0], ["launch_defaults"]).get("launch_defaults") or {}
    settings, refused = standing(head, play.request["parameters"]["mode"])
    users = users_of(settings, policy.env)
    launch = Launch.by_default(head, Invocation.of(play.request))
    cluster = Cluster({}, checks=checks, policy=policy, launch=launch).with_answers(answers, users)
    findings = [result.finding for result in run(cluster, SUBSET)]
    judged = report_on(detect(answers, policy, users), policy, findings)
    stopping = [*refused, *(why_silent(answer) for answer in answers if isinstance(answer, Silent))]
    return dataclasses.replace(_shown(play, judged), failure=PlanError(stopping) if stopping else None)


def _shown(play: Play, judged: RdmaReport) -> Conclusion:
    groups = [plain(dataclasses.asdict(group)) for group in judged.alike]
    head = {"created": play.request["created"], "command": play.request["command"]}
    document = {**head, **judged.to_dict(), "groups": groups}
    files, places = report_files(play, "rdma.html", document, render_page(judged))
    lines = ["", *render(judged, play.parameters["node"], play.width)]
    return Conclusion(lines=lines, document={**document, **places, "errors": []}, files=files, result=places)
