# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `nccl_files`: decides every node's environment once, and renders it as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import native, native_of, read_answers
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import DetectedNode, detect
from ansible_collections.muster.train.plugins.plugin_utils._detect.files import WRITERS, conf_name, with_shared_reasons
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines as finding_lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import (
    DEFAULT,
    LAUNCH_NODE_ENV,
    cluster_variable,
    node_variable,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.remedy import Option
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import users_of
from ansible_collections.muster.train.plugins.plugin_utils._request.standing import standing
from ansible_collections.muster.train.plugins.plugin_utils._text.table import node_names

# The environment of a node's ranks: as in a launch, and above it the variable of this role.
OF_NODE = {"launch_node_env": LAUNCH_NODE_ENV, "nccl_env_node_variables": node_variable("nccl_env_node_variables")}
# The names that a launch's options have in this role's remedies.
OPTIONS_HERE = {
    Option.MODE_TCP: "set nccl_env_mode: tcp",
    Option.CHANNELS: "set both to the same value",
    Option.ENV: "nccl_env_variables",
    Option.NODE_ENV: "nccl_env_node_variables",
    Option.HEAD_ADDRESS: "nccl_env_head_address",
}
NAMES = {"compose": "nccl.env", "shell": "nccl.sh"}  # the third has its library's name
OPTIONS = {
    "files": {"type": "list", "elements": "str", "choices": list(WRITERS), "default": list(WRITERS)},
    "mode": {"type": "str", "choices": ["auto", "rdma", "tcp"], "default": "auto"},
    "library": {"type": "str", "choices": ["", "nccl", "rccl"], "default": ""},
    "version": {"type": "str", "default": ""},
    "head_address": {"type": "str", "default": ""},
    "variables": {"type": "dict", "default": {}},
    "nodes": {"type": "list", "elements": "str"},
    "register": {"type": "str", "default": "nccl_env__facts"},
}


class ActionModule(ControllerAction):
    """Render once for all hosts, from what was registered on each. No node is contacted."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        nodes = args["nodes"] or variables["groups"].get("nodes", [])
        others = [host for host in variables.get("ansible_play_hosts", []) if host not in nodes]
        if others:
            raise UserError(
                f"{node_names(others)}: not in the group 'nodes', and NCCL's environment is decided for that group as "
                "a whole; add them to it, or use the role in a play with hosts: nodes"
            )
        of_head = ("launch_defaults", "launch_env", "launch_head_address")
        head = self.host_values(nodes[0], of_head, variables) if nodes else {}
        origin = DEFAULT if args["mode"] == "auto" else cluster_variable("nccl_env_mode")
        mode = {"value": args["mode"], **origin.to_dict()}
        settings, findings = standing(native(head, "launch_defaults"), mode)
        policy, faults = ClusterPolicy.read(native_of(head, ("launch_env", "launch_head_address")))
        policy = dataclasses.replace(policy, library=args["library"], version=args["version"])
        if args["head_address"]:
            given = {"head_address": args["head_address"], "head_address_origin": "nccl_env_head_address"}
            policy = dataclasses.replace(policy, **given)
        hosts = self.node_answers(nodes, args["register"], OF_NODE, variables)
        answers = read_answers(hosts, nodes, args["register"], OF_NODE)
        more = [(args["variables"], cluster_variable("nccl_env_variables"))]
        report = detect(answers, policy, users_of(settings, policy.env, more))
        findings += faults
        findings += [_with_role_names(finding) for finding in report.all_findings]
        files = {}
        for node in with_shared_reasons(report.nodes):
            files[node.name], refused = _files(node, args["files"])
            findings += refused
        stopping = [finding for finding in findings if finding.stops]
        if stopping:
            raise PlanError(stopping)
        warnings = [finding for finding in findings if finding.status == "warn"]
        return {"nodes": files, "warnings": finding_lines(warnings)}


def _with_role_names(finding: Finding) -> Finding:
    """Return the finding with the role's variables in its remedy instead of a launch's options."""
    remedy = finding.remedy
    return finding if isinstance(remedy, str) else dataclasses.replace(finding, remedy=remedy.text(OPTIONS_HERE))


def _files(node: DetectedNode, kinds: Sequence[str]) -> tuple[list[dict[str, str]], list[Finding]]:
    written, refused = [], []
    if node.answered:
        for kind in kinds:
            try:
                text = WRITERS[kind](node)
            except ValueError as error:
                refused.append(_refused(node.name, kind, str(error), kinds))
            else:
                written.append({"kind": kind, "name": NAMES.get(kind) or conf_name(node.library), "text": text})
    return written, refused


def _refused(node: str, kind: str, error: str, kinds: Sequence[str]) -> Finding:
    others = [other for other in kinds if other != kind]
    return Finding(
        check="file",
        node=node,
        status="fail",
        observed=error,
        expected="",
        source=f"nccl_env_files: {kind}",
        remedy=f"change the value, or write other files only: nccl_env_files: [{', '.join(others)}]",
    )
