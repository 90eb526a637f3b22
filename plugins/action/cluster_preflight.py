# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `cluster_preflight`: runs the checks on the facts of all nodes, and reports the results."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster, Launch
from ansible_collections.muster.train.plugins.plugin_utils._checks.page import render as render_page
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import document as report_document
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import problems as report_problems
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import render as render_report
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import report_on
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import stops as report_stops
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import verdict as report_verdict
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import VARIABLES as CHECK_VARIABLES
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import native, read_answers
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import (
    NAMES,
    OF_CONTAINER,
    OF_LIBRARY,
    ClusterPolicy,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings import finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import users_of
from ansible_collections.muster.train.plugins.plugin_utils._page.page import finished
from ansible_collections.muster.train.plugins.plugin_utils._request.standing import standing
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

VARIABLES = (*NAMES, *OF_CONTAINER, *OF_LIBRARY, "launch_defaults", *CHECK_VARIABLES)
OF_NODE = {"launch_node_env": LAUNCH_NODE_ENV}
OPTIONS = {
    "request": {"type": "dict", "required": True},
    "register": {"type": "str", "default": "preflight__facts"},
    "json": {"type": "str", "default": ""},
    "stop_on": {"type": "list", "elements": "str", "choices": ["fail", "error"], "default": ["fail", "error"]},
}


class ActionModule(ControllerAction):
    """Check, once for all hosts, what every node answered. Strings from hosts are shown, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        received = time.time()
        request = args["request"]
        settings = plain(self.task_values(VARIABLES, variables))
        policy, faults = ClusterPolicy.read(settings)
        checks, refused = read_checks(settings)
        if faults or refused:
            if self.is_document_requested:
                self.document = {"code": 2, "errors": [fault.to_error() for fault in (*faults, *refused)]}
            return {"failed": True, "code": 2, "msg": "\n".join(finding.lines([*faults, *refused]))}
        nodes = request["nodes"]
        hosts = self.node_answers(nodes, args["register"], OF_NODE, variables)
        answers = read_answers(hosts, nodes, args["register"], OF_NODE)
        head = self.host_values(nodes[0], ["launch_defaults"], variables)
        launch = Launch.by_default(settings.get("launch_defaults") or {}, Invocation.of(request))
        cluster = Cluster({}, checks=checks, policy=policy, launch=launch, received=received)
        defaults, _refused = standing(native(head, "launch_defaults"), request["parameters"]["mode"])
        report = report_on(cluster.with_answers(answers, users_of(defaults, policy.env)))
        document = {"created": request["created"], "command": request["command"], **report_document(report)}
        show(["", *render_report(report, WIDTH)])
        if report.code:
            show(["", report_verdict(report)], constants.config.get_config_value("COLOR_ERROR"))
        if self.is_document_requested:
            self.document = {**document, "errors": [problem.to_error() for problem in report_problems(report)]}
        changed = False
        if args["json"] and not self._task.check_mode:
            changed = _write(Path(args["json"]).expanduser(), document)
        path = request["parameters"].get("page", {}).get("value")
        if path:
            html = finished(render_page(report), request["created"], clean(request["command"]))
            changed |= self.write_page(Path(path).expanduser(), html)
        result = {"changed": changed, "code": report.code, "verdict": report_verdict(report)}
        if report_stops(report, args["stop_on"]):
            result.update(failed=True, msg=result.pop("verdict"), reported=True)
        return result


def _write(path: Path, document: Mapping[str, Any]) -> bool:
    """Write the document; return whether the file changed."""
    text, before = json.dumps(document, indent=2) + "\n", read_text(path)
    write_text(path, text, "preflight_json", "a file in a directory that you can write to")
    return before != text
