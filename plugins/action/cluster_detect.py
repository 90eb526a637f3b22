# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `cluster_detect`: prints what the nodes are, and writes the page and the document."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import (
    PAGE_EXPECTED,
    read_text,
    relative,
    write_text,
)
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import native, native_of, read_answers
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import OF_ENVIRONMENT, ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import ClusterReport, detect
from ansible_collections.muster.train.plugins.plugin_utils._detect.groups import groups
from ansible_collections.muster.train.plugins.plugin_utils._detect.page import render as render_page
from ansible_collections.muster.train.plugins.plugin_utils._detect.text import render as render_text
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines as finding_lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import users_of
from ansible_collections.muster.train.plugins.plugin_utils._page.page import finished, same_content
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._request.standing import standing
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned

OF_NODE = {"launch_node_env": LAUNCH_NODE_ENV}
OPTIONS = {
    "request": {"type": "dict", "required": True},
    "nodes": {"type": "list", "elements": "str"},
    "register": {"type": "str", "default": "detect__facts"},
    "dir": {"type": "path", "default": "detect"},
}


class ActionModule(ControllerAction):
    """Report once, for all hosts, what every node answered. Strings from hosts are shown, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request, parameters = args["request"], values(args["request"])
        nodes = args["nodes"] or request["nodes"]
        of_head = (*OF_ENVIRONMENT, "launch_defaults")
        head = self.host_values(request["nodes"][0], of_head, variables) if request["nodes"] else {}
        policy, faults = ClusterPolicy.read(native_of(head, OF_ENVIRONMENT))
        settings, refused = standing(native(head, "launch_defaults"), request["parameters"]["mode"])
        hosts = self.node_answers(nodes, args["register"], OF_NODE, variables)
        answers = read_answers(hosts, nodes, args["register"], OF_NODE)
        report = detect(answers, policy, users_of(settings, policy.env))
        report = dataclasses.replace(report, findings=[*faults, *refused, *report.findings])
        described = _document(report, request)
        document = json.dumps(described, indent=2) + "\n"
        # dir is only a default, so that a page requested elsewhere leaves nothing in it.
        page = Path(parameters["page"] or Path(args["dir"], "detect.html")).expanduser()
        beside = page.with_name(f"{page.stem if page.suffix in ('.html', '.htm') else page.name}.json")
        html = finished(render_page(report), request["created"], clean(request["command"]))
        result = {
            "changed": not same_content(read_text(page) or "", html),
            "page": str(page.absolute()),
            "document": str(beside.absolute()),
        }
        if not self._task.check_mode:
            for path, text in ((page, html), (beside, document)):
                write_text(path, text, "page", PAGE_EXPECTED)
        show(["", *render_text(report, WIDTH)])
        if not self._task.check_mode:
            show(["", *aligned([("page", relative(page)), ("document", relative(beside))])])
        stopping = [finding for finding in report.all_findings if finding.stops]
        if self.is_document_requested:
            places = {"page": result["page"], "document": result["document"]}
            self.document = {**described, **places, "errors": [finding.to_error() for finding in stopping]}
        if stopping:
            return {**result, "failed": True, "msg": "\n".join(finding_lines(stopping))}
        return result


def _document(report: ClusterReport, request: dict[str, Any]) -> dict[str, Any]:
    alike = [
        {
            "nodes": list(group.nodes),
            "differences": [
                {
                    "features": list(difference.features),
                    "value": difference.value,
                    "usual": difference.usual,
                    "node": difference.node,
                }
                for difference in group.differences
            ],
        }
        for group in groups(report.nodes)
    ]
    return {"created": request["created"], "command": request["command"], **report.to_dict(), "groups": alike}
