# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_pick`: chooses the run for a verb among the runs of all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction, read_text
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import RESULT_OPTIONS, Info, answers
from ansible_collections.muster.train.plugins.plugin_utils._results.pick import pick
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import head_candidates, planned


class ActionModule(ControllerAction):
    """Choose a run once for all hosts."""

    OPTIONS = RESULT_OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        infos = answers(variables, args)
        hosts = variables["hostvars"]
        workdirs = {info.node: str(workdir) for info in infos if (workdir := hosts[info.node].get("launch_workdir"))}
        request = args["request"]
        asked = args["run_id"] or request.get("run_id")
        run_id = pick(infos, asked, request.get("call"), workdirs, request.get("verb"))
        return {"run_id": run_id, "head": _head(infos, run_id, request.get("experiments"), variables["groups"])}


def _head(infos: Sequence[Info], run_id: str, experiments: str | None, groups: Mapping[str, Any]) -> str | None:
    """Return the node with node rank 0: by the plan that is here, else as a spare says; else the group's first."""
    nodes, spares = groups.get("nodes", []), groups.get("spares", [])
    candidates = head_candidates(infos, run_id, nodes, spares) if spares else []
    plan = parse_json(read_text(Path(experiments, run_id, "plan.json"))) if spares and experiments else None
    by_plan = [node for node, part in (planned(plan) or {}).items() if part.first_rank == 0]
    return next((node for node in (*by_plan, *candidates, *nodes) if node in (*nodes, *spares)), None)
