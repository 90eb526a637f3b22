# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of `preflight`: makes a cluster of what the nodes answered, runs the checks, says it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils import _findings
from ansible_collections.muster.train.plugins.plugin_utils._action.base import (
    WIDTH,
    ControllerAction,
    read_text,
    show,
    write_text,
)
from ansible_collections.muster.train.plugins.plugin_utils._checks import _policy, _report, _request
from ansible_collections.muster.train.plugins.plugin_utils._checks._cluster import cluster_of
from ansible_collections.muster.train.plugins.plugin_utils._checks._model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._checks._thresholds import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import native, read_answers
from ansible_collections.muster.train.plugins.plugin_utils._environment import NODE
from ansible_collections.muster.train.plugins.plugin_utils._plain import plain

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
        policy = {
            name: plain(self._templar.template(variables[name])) for name in _request.VARIABLES if name in variables
        }
        levels, refused = _policy.levels(policy.get("preflight_levels") or {})
        expected, unknown = _policy.profile(policy.get("preflight_expected") or {})
        given = {name: policy[f"preflight_{name}"] for name in NAMES if f"preflight_{name}" in policy}
        thresholds, no_numbers = _policy.thresholds(given)
        launch, no_range = _request.launch_of(policy, request)
        faults = [*refused, *unknown, *no_numbers, *no_range]
        if faults:
            return {"failed": True, "code": 2, "msg": "\n".join(_findings.lines(faults))}
        asked = read_answers(variables["hostvars"], request["nodes"], args["register"], {"launch_node_env": NODE})
        head = variables["hostvars"].get(request["nodes"][0]) or {}
        allowed = tuple(str(each) for each in policy.get("preflight_allowed_processes") or ())
        of = Cluster(
            {}, expected=expected, thresholds=thresholds, launch=launch, received=received, allowed_processes=allowed
        )
        rules = _request.rules_of(policy, request, native(head, "launch_defaults"))
        report = _report.report_on(cluster_of(asked, rules, of), levels)
        document = {"created": request["created"], "command": request["command"], **_report.document(report)}
        if request["parameters"]["output"]["value"] == "json":
            show([json.dumps(document, indent=2)])
        else:
            show(["", *_report.render(report, WIDTH)])
        changed = False
        if args["json"] and not self._task.check_mode:
            changed = _write(Path(args["json"]).expanduser(), document)
        result = {"changed": changed, "code": report.code, "said": _report.verdict(report)}
        if _report.stops(report, args["stop_on"]):
            result.update(failed=True, msg=result.pop("said"))
        return result


def _write(path: Path, document: Mapping[str, Any]) -> bool:
    """Write the document; say whether it says something new."""
    text, before = json.dumps(document, indent=2) + "\n", read_text(path)
    write_text(path, text, "preflight_json", "a file in a directory of yours")
    return before != text
