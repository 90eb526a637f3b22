# SPDX-License-Identifier: GPL-3.0-or-later
"""`detect`: every node is asked once what it is, and the environment of its ranks is decided as in a launch.

A table for every node and a summary are printed, and written as a page with a drawing and, beside it, as JSON. The verb
fails at the end if a node did not answer or the requested fabric cannot be used.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._action.files import PAGE_EXPECTED, relative
from .._cluster.policy import OF_ENVIRONMENT, ClusterPolicy
from .._detect.detected import ClusterReport
from .._detect.detected import detect as detect_cluster
from .._detect.groups import groups
from .._detect.page import render as render_page
from .._detect.text import render
from .._findings.finding import PlanError
from .._nccl.environments import users_of
from .._request.standing import standing
from .._text.plain import plain
from .._text.table import aligned
from .answers import read_node_answers
from .files import json_file, page_file
from .step import Conclude, Conclusion, Play, WantedFile, ask

FACTS = "detect__facts"  # as the role registers them
SUBSET = ("rdma", "gpu", "net", "limits", "container", "versions", "kernel", "inherited")


@ask("node_facts")
def gather_facts(play: Play, _host: str) -> dict[str, Any]:
    """Ask a node for its hardware, and for what its ranks would inherit."""
    policy = play.read_policy(("launch_workdir", "launch_code_dir", "launch_python"))
    options = {name.removeprefix("launch_"): value for name, value in policy.items() if value is not None}
    return {**options, "subset": list(SUBSET)}


@Conclude
def report(play: Play) -> Conclusion:
    """Decide the environments from what the nodes answered, and show everything."""
    detected = _detect_nodes(play)
    document = _document(detected, play.request)
    files, places = report_files(play, "detect.html", document, render_page(detected))
    stopping = [finding for finding in detected.all_findings if finding.stops]
    return Conclusion(
        lines=["", *render(detected, play.width)],
        document={**document, **places, "errors": []},
        files=files,
        result=places,
        failure=PlanError(stopping) if stopping else None,
    )


def report_files(
    play: Play, name: str, document: Mapping[str, Any], page: str
) -> tuple[list[WantedFile], dict[str, str]]:
    """Return a document and the page beside it, which has this name if no other was asked for, and where they are."""
    path = _page_path(play, name)
    beside = path.with_name(f"{path.stem if path.suffix in ('.html', '.htm') else path.name}.json")
    note = aligned([("page", relative(path)), ("document", relative(beside))])
    # When the facts were read and how long that took is always new: whether anything has changed, the page says.
    data = json_file(beside, document, "page", PAGE_EXPECTED, is_same=lambda _before: True)
    places = {"page": str(path.absolute()), "document": str(beside.absolute())}
    return [data, page_file(play, path, page, "\n".join(note))], places


def _detect_nodes(play: Play) -> ClusterReport:
    """Decide as for a launch without parameters, with what the head's policy has."""
    head = play.read_values(play.request["nodes"][0], (*OF_ENVIRONMENT, "launch_defaults"))
    policy, faults = ClusterPolicy.read(head)
    settings, refused = standing(head.get("launch_defaults") or {}, play.request["parameters"]["mode"])
    detected = detect_cluster(read_node_answers(play, FACTS), policy, users_of(settings, policy.env))
    return dataclasses.replace(detected, findings=[*faults, *refused, *detected.findings])


def _page_path(play: Play, name: str) -> Path:
    """Return where the page is; a page that is requested elsewhere leaves nothing in the default directory."""
    folder = os.path.expandvars(play.read_policy(["detect_dir"])["detect_dir"])
    return Path(play.parameters.get("page") or Path(folder, name)).expanduser()


def _document(detected: ClusterReport, request: Mapping[str, Any]) -> dict[str, Any]:
    alike = [plain(dataclasses.asdict(group)) for group in groups(detected.nodes)]
    return {"created": request["created"], "command": request["command"], **detected.to_dict(), "groups": alike}
