# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_ranks`: which ranks each node has, by the experiment's plan; without one, by the head's."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._results import ranks
from ansible_collections.muster.train.plugins.plugin_utils._results.file_part import part_of
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import RESULT_OPTIONS, Info, answers, gather
from ansible_collections.muster.train.plugins.plugin_utils._text.table import node_names, one_line

display = Display()

OPTIONS = {
    **RESULT_OPTIONS,
    "run_id": {"type": "str", "required": True},
    "head": {"type": "str", "required": True},
    "experiment": {"type": "str", "required": True},
}
# That of 1,000 nodes has about 10 MB.
PLAN_BYTES = 64 << 20


class ActionModule(Action):
    """Answer once for all hosts; delegated to the head, which alone may give a plan."""

    BYPASS_HOST_LOOP = True
    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        path, run_id, head = Path(args["experiment"], "plan.json"), args["run_id"], args["head"]
        text, brought = read_text(path), False
        spares = variables["groups"].get("spares", [])
        if text is None:
            infos = answers(variables, args)
            text = self._plan_of_head(args, infos, variables)
            brought = text is not None
            if text is not None and not self._task.check_mode:
                with private_files():
                    write_text(path, text, "launch_experiments_dir", "a directory that you can write to")
        plan = parse_json(text)
        parts = ranks.planned(plan)
        by_plan = parts is not None
        if parts is not None and any(part.first_rank is None for part in parts.values()):
            parts = ranks.confirm_spares(parts, self._read_head(args, variables))
        if parts is None:
            parts, refused = ranks.claimed(answers(variables, args), run_id, spares)
            for line in refused:
                display.warning(clean(line))
        elif not brought:
            nonce = gather(variables, [head], args["register"])[0].run.nonce
            if nonce is not None and nonce != plan.get("nonce"):
                display.warning(
                    f"{path} is of another launch of {run_id} than the run on {head}, and ranks are taken from it; "
                    "to take the head's plan, move it away"
                )
        return {
            "changed": brought,
            "by_plan": by_plan,
            "parts": {node: dataclasses.asdict(part) for node, part in parts.items()},
        }

    def _plan_of_head(self, args: dict[str, Any], infos: list[Info], variables: dict[str, Any]) -> str | None:
        """Return the head's plan; None, with a warning, where there is none or two nodes say that they are the head."""
        run_id, head = args["run_id"], args["head"]
        nodes, spares = (variables["groups"].get(group, []) for group in ("nodes", "spares"))
        heads = ranks.head_candidates(infos, run_id, nodes, spares)
        if len(heads) > 1:
            why = f"{node_names(heads)} claim to be the head"
        else:
            try:
                text, why = self._read_plan(args, variables)
            except AnsibleConnectionFailure as error:
                text, why = None, f"{head} does not answer: {one_line(error)}"
            if text is not None:
                return text
        display.warning(
            clean(
                f"there is no plan of {run_id} in {args['experiment']}, and none is taken from the nodes: {why}; "
                "the ranks that the nodes report are used. Collect from the controller that launched the run, "
                "or copy its plan.json there"
            )
        )
        return None

    def _read_plan(self, args: dict[str, Any], variables: dict[str, Any]) -> tuple[str | None, str]:
        """Return the plan as it lies on the head, or None and why."""
        head, place = args["head"], self._place_on_head(args, variables)
        data, last = b"", False
        while not last and len(data) < PLAN_BYTES:
            part = {**place, "path": "plan.json", "offset": len(data)}
            answer: dict[str, Any] = self._execute_module("muster.train.run_file", part, task_vars=variables)
            if answer.get("failed"):
                return None, f"{head}: {one_line(answer.get('msg'))}"
            try:
                block = part_of(answer)
            except ValueError as error:
                return None, f"{head}: {one_line(error)}"
            data, last = data + block, answer["last"] or not block
        if not last:
            return None, f"{head}: it is larger than {PLAN_BYTES >> 20} MiB"
        return data.decode("utf-8", "replace"), ""

    def _read_head(self, args: dict[str, Any], variables: dict[str, Any]) -> RunRecord:
        """Return the run as it is on the head now: a spare may have replaced a node since it was last read."""
        try:
            place = self._place_on_head(args, variables)
            answer: dict[str, Any] = self._execute_module("muster.train.run_info", place, task_vars=variables)
        except AnsibleConnectionFailure:
            return RunRecord()
        return RunRecord.from_dict(answer.get("run"))

    def _place_on_head(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Return where the run is on the head, by its own work directory; the task's would be the first host's."""
        values = self.host_values(args["head"], ["launch_workdir"], variables)
        workdir = values.get("launch_workdir") or self._templar.template(variables["launch_workdir"])
        return {"workdir": str(workdir), "run_id": args["run_id"], "node": args["head"]}
