# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_plan`: makes the plan once from the facts of all nodes, and shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._checks.launch import SHOWN
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import VARIABLES, read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, Silent, read_answers
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import NAMES, ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._cluster.silence import why_silent
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import is_known
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError, display
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError, lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._findings.remedy import correct
from ansible_collections.muster.train.plugins.plugin_utils._plan.spares import plan_with_spares
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

REGISTER = "launch__facts"
READ = (*NAMES, *VARIABLES)
NO_REQUEST = (
    "there is no request to plan, because no play has checked one before: import the whole playbook "
    "(import_playbook: muster.train.launch) and run it without --limit, with -e nnodes=N for fewer nodes"
)

# Those that node_facts refuses where they are relative.
DIRECTORIES = ("launch_workdir", "launch_code_dir")
OF_NODE = {"launch_node_env": LAUNCH_NODE_ENV}
OPTIONS = {"request": {"type": "dict", "required": True}}


class ActionModule(ControllerAction):
    """Plan a run: once for all hosts, from what Ansible knows of them. No node is contacted."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request = args["request"]
        if not request:
            raise UserError(NO_REQUEST)
        # The task runs on the head, so its variables are the head's; only they have the role's defaults.
        policy = plain(self.task_values(READ, variables))
        names = [*request["nodes"], *request["spares"]]
        policies = {
            node: {**({} if rank else policy), **plain(self.host_values(node, READ, variables))}
            for rank, node in enumerate(names)
        }
        hosts = self.node_answers(names, REGISTER, OF_NODE, variables)
        answers = read_answers(hosts, names, REGISTER, OF_NODE)
        known = {
            node.name: dataclasses.replace(node, policy=policies[node.name])
            for node in answers
            if isinstance(node, Node)
        }
        silent = {
            node.name: _relative_path(node.name, self.host_values(node.name, DIRECTORIES, variables)) or _no_facts(node)
            for node in answers
            if isinstance(node, Silent)
        }
        cluster, faults = ClusterPolicy.read(policy)
        checks, refused = read_checks(policy)
        try:
            if faults or refused:
                raise PlanError([*faults, *refused])
            plan, left_out = plan_with_spares(request, cluster, known, silent, checks)
        except PlanError as error:
            self._write_page(request, error.findings, refused=True)
            raise
        self._write_page(request, [*left_out, *(Finding(**finding) for finding in plan["findings"])], refused=False)
        result = {"changed": self._task.check_mode, "plan": plan}
        shown = [Finding(**finding) for finding in plan["findings"] if finding["check"] in SHOWN]
        if left_out or shown:
            result["warnings"] = lines(dict.fromkeys([*left_out, *shown]))
        if self._task.check_mode and self.is_document_requested:
            self.document = {"run_id": plan["run_id"], "world_size": plan["world_size"], "plan": plan}
        if not (self._task.check_mode or self._task.diff):
            return result
        # A launch does not show the plan, so it does not import this.
        from ansible_collections.muster.train.plugins.plugin_utils._plan import text

        if not self._task.diff:
            show(["", *text.header(plan)])
        headers = {"before_header": "nothing", "after_header": f"the plan of {plan['run_id']}"}
        result["diff"] = {"before": "", "after": text.render(plan), **headers}
        return result

    def _write_page(self, request: dict[str, Any], findings: list[Finding], refused: bool) -> None:
        path = request["parameters"].get("page", {}).get("value")
        if not path:
            return
        # A launch without a page does not import this.
        from ansible_collections.muster.train.plugins.plugin_utils._page.page import finished
        from ansible_collections.muster.train.plugins.plugin_utils._plan.page import render

        page = render(len(request["nodes"]), findings, refused)
        self.write_page(Path(path).expanduser(), finished(page, request["created"], clean(request["command"])))


def _relative_path(node: str, policy: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a directory that the node's facts need, by the name of its variable."""
    for variable in DIRECTORIES:
        path = str(policy.get(variable) or "~")
        if not path.startswith(("/", "~")):
            expected = "an absolute path on the node, or one that begins with ~"
            observed = f"it is {display(path)}"
            return Finding(variable, node, "fail", observed, expected, "node_facts", correct(variable))
    return None


def _no_facts(silent: Silent) -> Finding:
    if is_known(silent.message, silent.reason_key):
        return why_silent(silent)
    remedy = "fix it, or remove the node from the inventory"
    if not silent.asked:
        remedy = "run the whole playbook, with -e nnodes=N and not --limit for fewer nodes"
    return Finding("answer", silent.name, "error", silent.why, "its facts", "module node_facts", remedy)
