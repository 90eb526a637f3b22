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

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.plugin_utils import _findings
from ansible_collections.muster.train.plugins.plugin_utils._answers import answers, native
from ansible_collections.muster.train.plugins.plugin_utils._checks import _policy, _report, _request
from ansible_collections.muster.train.plugins.plugin_utils._checks._cluster import cluster_of
from ansible_collections.muster.train.plugins.plugin_utils._checks._model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._checks._thresholds import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._environment import NODE
from ansible_collections.muster.train.plugins.plugin_utils._plain import plain
from ansible_collections.muster.train.plugins.plugin_utils._terminal import width

display = Display()

# A worker has no terminal of its own; what the user has is what it was when Ansible imported this file.
WIDTH = width()
OPTIONS = {
    "request": {"type": "dict", "required": True},
    "register": {"type": "str", "default": "preflight__facts"},
    "json": {"type": "str", "default": ""},
    "stop_on": {"type": "list", "elements": "str", "choices": ["fail", "error"], "default": ["fail", "error"]},
}


class ActionModule(ActionBase):
    """Check, once for all hosts, what every node answered. Strings from hosts are shown, never templated."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        received = time.time()
        args = transform_to_native_types(self.validate_argument_spec(OPTIONS)[1], redact=False)
        variables, request = task_vars or {}, args["request"]
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
            return {**result, "failed": True, "code": 2, "msg": "\n".join(_findings.lines(faults))}
        asked = answers(variables, request["nodes"], args["register"], {"launch_node_env": NODE})
        head = variables["hostvars"].get(request["nodes"][0]) or {}
        allowed = tuple(str(each) for each in policy.get("preflight_allowed_processes") or ())
        of = Cluster(
            {}, expected=expected, thresholds=thresholds, launch=launch, received=received, allowed_processes=allowed
        )
        rules = _request.rules_of(policy, request, native(head, "launch_defaults"))
        report = _report.report_on(cluster_of(asked, rules, of), levels)
        document = {"created": request["created"], "command": request["command"], **_report.document(report)}
        if request["parameters"]["output"]["value"] == "json":
            display.display(json.dumps(document, indent=2))
        else:
            for line in ["", *_report.render(report, WIDTH)]:
                display.display(line)
        if args["json"] and not self._task.check_mode:
            result["changed"] = _written(Path(args["json"]).expanduser(), document)
        result.update(code=report.code, said=_report.verdict(report))
        if _report.stops(report, args["stop_on"]):
            result.update(failed=True, msg=result.pop("said"))
        return result


def _written(path: Path, document: Mapping[str, Any]) -> bool:
    """Write the document; say whether it says something new."""
    text = json.dumps(document, indent=2) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        new = path.with_name(f".{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise AnsibleActionFail(
            f"preflight_json: {path} cannot be written ({error.strerror or error}); "
            "expected a file in a directory of yours"
        ) from None
    return before != text
