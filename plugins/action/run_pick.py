# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_pick`: chooses the run for a verb, and the nodes that have to be asked besides its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text
from ansible_collections.muster.train.plugins.plugin_utils._results import unanswered
from ansible_collections.muster.train.plugins.plugin_utils._results.by_head import unfinished_nodes, unknown_nodes
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import RESULT_OPTIONS, Info, answers
from ansible_collections.muster.train.plugins.plugin_utils._results.pick import NoRun, pick
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import head_candidates, planned

OPTIONS = {
    **RESULT_OPTIONS,
    "heads": {"type": "list", "elements": "str"},
    "stopped": {"type": "bool", "default": False},
}


class ActionModule(ControllerAction):
    """Choose a run once for all hosts."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        if args["heads"]:
            return {"heads": args["heads"], **self._ask_head(args, variables)}
        infos, request = answers(variables, args), args["request"]
        run_id = self._pick(infos, args, variables)
        return {"run_id": run_id, "head": _head(infos, run_id, request, variables["groups"])}

    def _ask_head(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Return the run as its head knows it, and whom else to ask: all others where the head does not know it."""
        heads, stopped = args["heads"], args["stopped"]
        infos = answers(variables, {**args, "nodes": heads})
        nodes = args["request"].get("nodes") or variables["groups"].get("nodes", [])
        others = [node for node in nodes if node not in heads]
        try:
            # A stop was of a run that had been chosen.
            run_id = args["run_id"] if stopped else self._pick(infos, args, variables)
        except NoRun:
            return {"run_id": None, "head": None, "ask": others}
        chosen = {"run_id": run_id, "head": _head(infos, run_id, args["request"], variables["groups"])}
        head = next((info for info in infos if info.run.run_id == run_id and info.nodes), None)
        if head is None:
            return {**chosen, "ask": others}
        ask = unfinished_nodes(head.run, head.nodes, nodes) if stopped else unknown_nodes(head.run, head.nodes)
        return {**chosen, "ask": [node for node in others if node in ask]}

    def _pick(self, infos: Sequence[Info], args: dict[str, Any], variables: dict[str, Any]) -> str:
        hosts = variables["hostvars"]
        workdirs = {info.node: str(workdir) for info in infos if (workdir := hosts[info.node].get("launch_workdir"))}
        request = args["request"]
        asked = args["run_id"] or request.get("run_id")
        if self.is_document_requested:
            self.document = {"errors": unanswered.errors(infos)}
        run_id = pick(infos, asked, request.get("call"), workdirs, request.get("verb"))
        if self.document is not None:
            self.document = {**self.document, "run_id": run_id}
        return run_id


def _head(infos: Sequence[Info], run_id: str, request: Mapping[str, Any], groups: Mapping[str, Any]) -> str | None:
    """Return the node with node rank 0: by the plan that is here, else as a spare says; else the group's first."""
    nodes, spares = groups.get("nodes", []), groups.get("spares", [])
    experiments = request.get("experiments")
    candidates = head_candidates(infos, run_id, nodes, spares) if spares else []
    plan = parse_json(read_text(Path(experiments, run_id, "plan.json"))) if spares and experiments else None
    by_plan = [node for node, part in (planned(plan) or {}).items() if part.first_rank == 0]
    return next((node for node in (*by_plan, *candidates, *nodes) if node in (*nodes, *spares)), None)
