# SPDX-License-Identifier: GPL-3.0-or-later
"""`preflight`: every node is asked for its facts, and all checks judge them together.

A node looks at what a launch without parameters would use there, and tries to reach the head at a port of the ranks.
Nodes on different machines are asked once more, to connect to each other at the addresses that these facts have.
Its silence is a result, too. The results are printed, and written as JSON and as a page where they are asked for.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.health import Reach
from ansible_collections.muster.train.plugins.module_utils._records.job import APPTAINER

from .._action.files import relative
from .._checks.model import Cluster, Launch
from .._checks.page import render as render_page
from .._checks.policy import CheckPolicy
from .._checks.report import Report, document, problems, render, report_on, stops, verdict
from .._checks.variables import VARIABLES as CHECK_VARIABLES
from .._checks.variables import read_checks
from .._cluster.connections import TriedConnection, plan_connections
from .._cluster.head_name import decide_address
from .._cluster.node import Node
from .._cluster.policy import NAMES, OF_CONTAINER, OF_LIBRARY, ClusterPolicy
from .._cluster.profilers import PROFILERS, input_of, profiler_of
from .._findings.errors import ReportedError
from .._findings.finding import PlanError
from .._findings.invocation import Invocation
from .._nccl.environments import users_of
from .._plan.facts import image_options, python_path
from .._request.standing import standing
from .._text.plain import plain
from .answers import read_node_answers
from .files import json_file, page_file
from .step import Conclude, Conclusion, Play, Tone, WantedFile, ask

# As the role registers them.
FACTS, CONNECTIONS, REACH = "preflight__facts", "preflight__connections", "preflight__reach"
DOCUMENT, STOP_ON = "preflight_json", "preflight__stop_on"
POLICY = (*NAMES, *OF_CONTAINER, *OF_LIBRARY, *CHECK_VARIABLES, DOCUMENT, STOP_ON)
OF_FACTS = (
    *("launch_workdir", "launch_code_dir", "launch_python", "launch_slot", "launch_docker", "launch_head_address"),
    *("launch_runtime", "container_data_dirs", "container_image", "preflight_as_root"),
    *("launch_image", "launch_apptainer", "launch_apptainer_options", "launch_binds", "launch_env", "launch_node_env"),
)


@ask("node_facts")
def gather_facts(play: Play, host: str) -> dict[str, Any]:
    """Ask a node for all that the checks need."""
    policy, checked = play.read_policy(OF_FACTS), play.read_answer("localhost", "launch__request")
    defaults, first = plain(checked["defaults"]), play.request["nodes"][0]
    address = policy.get("launch_head_address") or play.read_values(first, ["ansible_host"]).get("ansible_host")
    head, port = str(address or ""), defaults.get("master_port") or checked["first_port"]
    # Setup writes the compose file, so that only a launch looks into containers.
    on_host = policy.get("launch_runtime", "host") == "host"
    profiler = profiler_of(defaults) if on_host else None
    environments = (defaults.get("env"), policy.get("launch_node_env"), policy.get("launch_env"))
    layers = [layer for layer in environments if isinstance(layer, Mapping)]
    options = {
        "workdir": policy.get("launch_workdir"),
        "code_dir": policy.get("launch_code_dir", "~/muster/code"),
        "python": policy.get("launch_python"),
        "node": host,
        "slot": policy.get("launch_slot"),
        "files": _given(defaults.get("script"), defaults.get("config"), input_of(defaults)),
        "config": defaults.get("config") or None,
        "ports": _given(defaults.get("master_port")),
        "data_dirs": policy.get("container_data_dirs"),
        "names": _given(head),
        "reach": [f"{f'[{head}]' if ':' in head else head}:{port}"] if head and port else [],
        "docker": policy.get("launch_docker"),
        "images": _given(policy.get("container_image")),
        "as_root": policy.get("preflight_as_root"),
        "profiler": PROFILERS[profiler].program if profiler else None,
        "script": (defaults.get("script") or None) if on_host else None,
        "python_path": python_path(layers),
        **(image_options(policy, layers) if policy.get("launch_runtime") == APPTAINER else {}),
        "probe_disks": True,
        "asked_at": time.time(),
        "subset": ["all", "!tools", "!services"],
    }
    return {name: value for name, value in options.items() if value is not None}


def _given(*values: Any) -> list[Any]:
    return [value for value in values if value]


@Conclude
def choose_connections(play: Play) -> Conclusion:
    """Choose which nodes try to connect to which, by the addresses that they have."""
    policy, faults = ClusterPolicy.read(play.read_policy(POLICY))
    nodes = [] if faults else [node for node in read_node_answers(play, FACTS) if isinstance(node, Node)]
    facts = {node.name: node.facts for node in nodes if node.facts.net is not None}
    if len(facts) < 2 or nodes[0].name not in facts:
        return Conclusion(result={"connections": []})
    address, _findings = decide_address(facts, policy.head_address, nodes[0].address)
    return Conclusion(result={"connections": list(map(dataclasses.asdict, plan_connections(facts, address.value)))})


@ask("node_facts")
def connect(play: Play, host: str) -> dict[str, Any] | None:
    """Let a node connect to others, if it has to."""
    begun = [connection for connection in _planned(play) if connection.source == host]
    if not begun:
        return None
    policy = play.read_policy(("launch_workdir", "launch_code_dir"))
    options = {name: policy.get(f"launch_{name}") for name in ("workdir", "code_dir")}
    targets = [connection.text for connection in begun]
    return {**{name: value for name, value in options.items() if value}, "reach": targets, "subset": ["reach"]}


def _planned(play: Play) -> list[TriedConnection]:
    answer = play.read_answer(play.request["nodes"][0], CONNECTIONS) or {}
    return [TriedConnection(**plain(item)) for item in answer.get("connections", ())]


def _tried(play: Play) -> dict[str, tuple[TriedConnection, ...]]:
    """Return the connections that were tried, by the node at which they ended."""
    results: dict[tuple[str, str, int], Reach] = {}
    for node in play.request["nodes"]:
        facts = plain(((play.read_answer(node, REACH) or {}).get("ansible_facts") or {}).get("node")) or {}
        for item in map(Reach.from_dict, facts.get("reach") or ()):
            results[node, item.address, item.port] = item
    tried: dict[str, tuple[TriedConnection, ...]] = {}
    for connection in _planned(play):
        result = results.get((connection.source, connection.address, connection.port))
        ended = dataclasses.replace(connection, result=result)
        tried[connection.target] = (*tried.get(connection.target, ()), ended)
    return tried


@Conclude
def check(play: Play) -> Conclusion:
    """Run all checks on what the nodes answered; code is the verb's exit code."""
    received = time.time()
    variables = play.read_policy(POLICY)
    policy, faults = ClusterPolicy.read(variables)
    checks, refused = read_checks(variables)
    if faults or refused:
        return Conclusion(document={"code": 2}, result={"code": 2}, failure=PlanError([*faults, *refused]))
    report = _judge(play, policy, checks, received)
    results = {"created": play.request["created"], "command": play.request["command"], **document(report)}
    errors = [problem.to_error() for problem in problems(report)]
    failed: list[str | tuple[str, Tone]] = ["", (verdict(report), Tone.ERROR)] if report.code else []
    return Conclusion(
        lines=["", *render(report, play.width), *failed],
        document={**results, "errors": errors},
        files=[*_files(play, report, results, variables)],
        result={"code": report.code, "verdict": verdict(report)},
        failure=ReportedError(verdict(report)) if stops(report, variables.get(STOP_ON, ["fail", "error"])) else None,
        is_shown=True,
    )


def _judge(play: Play, policy: ClusterPolicy, checks: CheckPolicy, received: float) -> Report:
    """Run the checks as for a launch with the cluster's defaults."""
    request = play.request
    defaults = play.read_values(request["nodes"][0], ["launch_defaults"]).get("launch_defaults") or {}
    launch = Launch.by_default(defaults, Invocation.of(request))
    cluster = Cluster({}, checks=checks, policy=policy, launch=launch, received=received, connections=_tried(play))
    settings, _refused = standing(defaults, request["parameters"]["mode"])
    return report_on(cluster.with_answers(read_node_answers(play, FACTS), users_of(settings, policy.env)))


def _files(play: Play, report: Report, results: dict[str, Any], variables: dict[str, Any]) -> Iterator[WantedFile]:
    """Yield the document and the page that are asked for."""
    if variables.get(DOCUMENT) and not play.is_checked:
        path = Path(variables[DOCUMENT]).expanduser()
        yield json_file(path, results, DOCUMENT, "a file in a directory that you can write to")
    if page := play.parameters.get("page"):
        path = Path(page).expanduser()
        yield page_file(play, path, render_page(report), f"  page: {relative(path)}")
