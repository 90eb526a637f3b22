# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_report`: prints what the user reads about a run, and fails if the verdict is not in succeed_on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import constants, context

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text, relative
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import (
    ReportedError,
    UserError,
    error_record,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import hints
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._results import (
    documents,
    remaining,
    report,
    unanswered,
    waiting,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.events import attempt_lines, gang_of
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import (
    RESULT_OPTIONS,
    Info,
    answers,
    run_id_of,
    runs_of,
    with_call,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.outside import add_outside
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import place_silent, planned
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import (
    Verdict,
    has_runner,
    judge,
    may_have,
    members,
)
from ansible_collections.muster.train.plugins.plugin_utils._setup import teardown
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned, node_names

COLORS = {"succeeded": "COLOR_OK", "running": "COLOR_CHANGED", "waiting": "COLOR_CHANGED", "stopped": "COLOR_CHANGED"}
HINTS = ("follow", "stop", "status", "logs")
WHAT = ("status", "result", "logs", "hints", "start", "stopping", "stopped", "removed")
OPTIONS = {
    "what": {"type": "str", "required": True, "choices": list(WHAT)},
    **RESULT_OPTIONS,
    "succeed_on": {"type": "list", "elements": "str"},
    "all_answer": {"type": "bool", "default": False},
    "grace": {"type": "int"},
    "why": {"type": "str"},
}

color_of = constants.config.get_config_value


class ActionModule(ControllerAction):
    """Print as plain text; strings from hosts are shown, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request = args["request"]
        if args["what"] == "removed":
            self._show_removed(request["nodes"], args["register"], variables["hostvars"])
            return {}
        infos = with_call(answers(variables, args), Invocation.of(request))
        run_id = run_id_of(infos, args["run_id"], request.get("run_id"))
        if args["what"] == "start":
            why, lines = report.not_started(infos, args["why"])
            message = clean(f"{run_id} did not start: {why}")
            show([clean(f"{run_id} did not start:"), *lines] if lines else [message], color_of("COLOR_ERROR"))
            self._keep(documents.of_run(run_id, infos), error_record(message))
            return {"failed": True, "msg": message, "reported": True}
        if args["what"] == "hints":
            where = report.places([], _shown_path(request, run_id))
            if args["why"]:
                show(["", clean(args["why"])], color_of("COLOR_WARN"))
            show(["", f"run {clean(run_id)}", *aligned([*hints(str(run_id), request.get("call"), HINTS), *where])])
            self._keep(documents.of_run(run_id, infos, experiment=_experiment(request, run_id)))
            return {"run_id": run_id}
        if args["what"] == "stopping":
            show(report.asking(infos, run_id, args["grace"]))
            return {"run_id": run_id}
        groups = variables["groups"]
        inventory = {*groups.get("nodes", []), *groups.get("spares", []), *(info.node for info in infos)}
        infos, replaced = _placed(infos, request, run_id, inventory)
        runs = members(runs_of(infos))
        infos = [info for info in infos if info.run in runs or has_runner(info.run)]
        verdict = judge(runs)
        if args["what"] == "logs":
            if wrong := report.no_such_rank(runs, request.get("parameters", {}).get("rank")):
                raise UserError(clean(wrong))
            if values(request).get("follow"):
                return {"run_id": run_id, "followed": _followed(infos, request)}
            show(_logs(infos, request))
            asked = values(request)
            chosen = (asked.get(name) for name in ("lines", "node", "rank"))
            self._keep(documents.of_logs(run_id, infos, *chosen))
        else:
            _print_status(args["what"], run_id, infos, verdict, request, replaced, inventory)
            document = documents.of_run(run_id, infos, verdict, replaced, _experiment(request, run_id))
            self._keep({**document, **({"waiting": waiting.data(infos)} if args["what"] == "status" else {})})
        if args["succeed_on"] and verdict.verdict not in args["succeed_on"]:
            # One line: Ansible prints all of a failed result, and the rest is already shown above.
            error = documents.of_verdict(run_id, verdict)
            if self.document is not None:
                self._keep(self.document, error)
            return {"failed": True, "msg": clean(error["message"]), "reported": True}
        silent = [info.node for info in infos if not info.answered]
        if silent and args["all_answer"]:
            missed = "no files of the run were collected" if args["what"] == "result" else "the run was not reached"
            raise ReportedError(clean(f"{node_names(silent)}: {missed}; fix that and repeat the command"))
        return {"run_id": run_id, "verdict": verdict.to_dict()}

    def _keep(self, document: Mapping[str, Any], *errors: Mapping[str, Any]) -> None:
        """Keep the document if it is requested, with more errors before its own."""
        if self.is_document_requested:
            self.document = {**document, "errors": [*errors, *document.get("errors", [])]}

    def _show_removed(self, nodes: Sequence[str], register: str, hostvars: Mapping[str, Any]) -> None:
        removed = [teardown.answer(node, plain((hostvars.get(node) or {}).get(register))) for node in nodes]
        show(["", *teardown.lines(removed, self._task.check_mode, WIDTH), ""])
        self._keep(teardown.document(removed, self._task.check_mode))
        if failed := [answer.node for answer in removed if answer.failed]:
            missed = "it is not known what would be removed" if self._task.check_mode else "not everything was removed"
            raise ReportedError(f"{node_names(failed)}: {missed}, see above; fix it and run teardown again")


def _placed(
    infos: Sequence[Info], request: Mapping[str, Any], run_id: str | None, inventory: Collection[str]
) -> tuple[list[Info], dict[str, str]]:
    """Return the answers of all nodes of the run, and which spare took each node's ranks.

    Nodes that gave no answer have their planned ranks, also those that are not in the inventory.
    """
    runs = runs_of(infos)
    replaced = gang_of(members(runs)).replaced
    plan = None
    taken = [run for run in runs if has_runner(run)]
    is_complete = all(info.answered for info in infos) and len(taken) >= max(
        (run.nnodes or 0 for run in taken), default=0
    )
    if request.get("experiments") and run_id and (request.get("spares") or not is_complete):
        plan = parse_json(read_text(Path(request["experiments"], run_id, "plan.json")))
    replaced = {**as_names(as_dict(plan).get("replaced")), **replaced}
    parts = planned(plan) or {}
    placed = place_silent(runs, parts, replaced)
    infos = [dataclasses.replace(info, run=run) for info, run in zip(infos, placed, strict=True)]
    return (add_outside(infos, inventory, parts, replaced) if taken else infos), replaced


def _print_status(
    what: str,
    run_id: str | None,
    infos: Sequence[Info],
    verdict: Verdict,
    request: dict[str, Any],
    replaced: Mapping[str, str],
    inventory: Collection[str],
) -> None:
    runs, call = runs_of(infos), request.get("call")
    outside = {str(run.node) for run in runs} - {*inventory}
    show(["", *report.status_table(runs, WIDTH, replaced, bool(values(request).get("all")), outside), ""])
    color = "COLOR_WARN" if verdict.warnings else COLORS.get(verdict.verdict, "COLOR_ERROR")
    show([report.summary(run_id, verdict, runs, replaced)], color_of(color))
    show(attempt_lines(gang_of(runs).ended_attempts))
    show(report.explanation(verdict))
    if what == "stopped":
        show(report.already_ended(infos, run_id))
    show(remaining.lines(infos))
    show((f"  {line}" for line in unanswered.lines(infos)), color_of("COLOR_WARN"))
    show(waiting.lines(infos) if what == "status" else [])
    after = report.places(runs, _shown_path(request, run_id)) if what == "result" else []
    if run_id:
        left = any(run.left for run in runs)
        after += hints(
            run_id, call, ("follow", "stop", "logs", "stacks") if verdict.active else ("stop", "logs")[not left :]
        )
    show(aligned(after))


def _logs(infos: Sequence[Info], request: dict[str, Any]) -> list[str]:
    settings = values(request)
    lines = report.log_lines(
        infos, settings.get("lines"), settings.get("node"), settings.get("rank"), settings.get("grep")
    )
    of = "".join(f" of {name} {settings[name]}" for name in ("node", "rank", "grep") if settings.get(name) is not None)
    return [*(lines or [clean(f"no log lines{of}")]), *unanswered.lines(infos)]


def _followed(infos: Sequence[Info], request: dict[str, Any]) -> dict[str, str]:
    """Return the nodes whose logs are followed, with the run's directory there; each needs a fork of Ansible."""
    settings = values(request)
    node, rank = settings.get("node"), settings.get("rank")
    followed = {
        info.node: info.run.run_dir
        for info in infos
        if info.answered
        and info.run.run_dir
        and node in (None, info.node)
        and (rank is None or may_have(info.run, rank))
    }
    show(unanswered.lines(infos))
    if not followed:
        raise UserError("no node that answers has the logs that were asked for: `status` shows the nodes")
    forks = int(context.CLIARGS.get("forks") or constants.config.get_config_value("DEFAULT_FORKS"))
    if len(followed) > forks:
        raise UserError(
            f"follow: expected at most {forks} nodes, as many as Ansible has forks, saw {len(followed)}; "
            f"give -f {len(followed)}, or choose with -e rank=N or -e node=NAME"
        )
    return followed


def _shown_path(request: dict[str, Any], run_id: str | None) -> str | None:
    """Return the experiment's directory in its shortest form."""
    path = _experiment(request, run_id)
    return None if path is None else relative(path)


def _experiment(request: dict[str, Any], run_id: str | None) -> str | None:
    """Return the experiment's directory on this controller."""
    if not request.get("experiments") or not run_id:
        return None
    return os.path.join(request["experiments"], run_id)
