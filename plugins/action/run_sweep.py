# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_sweep`: launches one point of a sweep after the other, and keeps what became of them."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible import context

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.child import ChildCommand
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text, relative, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import ProgressLine, show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._page.page import finished
from ansible_collections.muster.train.plugins.plugin_utils._report import sweep_page
from ansible_collections.muster.train.plugins.plugin_utils._request.secret_options import SECRET_OPTION
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._sweep import folder, outcome, record, text
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep

INTERRUPT = Interrupt()
OPTIONS = {"request": {"type": "dict", "required": True}}
PAGE = "sweep.html"
# What a sweep needs of its launches, whatever the cluster's defaults are.
FOLLOWED = {"follow": True, "all": False, "lines": 0}
# Options with which Ansible asks for a password.
ASKING = {"ask_pass": "-k", "become_ask_pass": "-K", "ask_vault_pass": "-J"}


class ActionModule(ControllerAction):
    """Run what has not succeeded of a sweep: a new one, or one that the same command has begun."""

    OPTIONS = OPTIONS
    _home: Path
    _sweep: Sweep
    _request: Mapping[str, Any]
    _line: ProgressLine
    _count = 0  # of the points that this command runs
    _times: list[float]  # of those that have ended

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        self._request, self._times, self._line = args["request"], [], ProgressLine(time.monotonic)
        _refuse_questions()
        planned, experiments = record.plan_sweep(self._request), Path(self._request["experiments"])
        if self._task.check_mode:
            self._home, self._sweep = folder.find(experiments, planned)
            self._read_values()
            show([self._beginning(), "", *map(clean, text.table_lines(self._sweep, WIDTH))])
            return self._result(changed=False)
        with folder.open_folder(experiments, planned) as (self._home, self._sweep), INTERRUPT.awaited():
            before = self._sweep
            self._read_values()
            folder.write(self._home, self._sweep)
            show([self._beginning()])
            self._run_points()
            self._report()
        return self._result(changed=self._sweep != before)

    def _beginning(self) -> str:
        return text.beginning(self._sweep, len(record.unfinished(self._sweep.points)), relative(self._home))

    def _read_values(self) -> None:
        """Read the objective of the runs that succeeded, which may be another one than before."""
        for point in self._sweep.points:
            if point.outcome == record.SUCCEEDED:
                self._sweep = self._sweep.with_point(self._judge(point) or point)

    def _run_points(self) -> None:
        settings, points = values(self._request), list(self._sweep.points)
        if settings["shuffle"]:
            random.Random(self._sweep.key).shuffle(points)
        points = record.unfinished(points)
        self._count = len(points)
        points = [point for point in points if not self._resume(point)]
        if points and settings["preflight"] and not self._must_end(0):
            self._preflight()
        sync = settings["sync"]
        failures = 0
        for index, point in enumerate(points):
            if index and settings["pause"] and not self._must_end(failures):
                self._pause(settings["pause"])
            if self._must_end(failures):
                return
            ended = self._launch(point, sync)
            sync = sync and ended.run_id is None
            failures += ended.outcome != record.SUCCEEDED

    def _must_end(self, failures: int) -> bool:
        """Whether nothing more is to be launched: as the user says, or because a run goes on that holds the slot."""
        most = values(self._request)["max_failures"]
        is_busy = any(point.outcome == record.RUNNING for point in self._sweep.points)
        return INTERRUPT.pressed or is_busy or bool(most and failures >= most)

    def _preflight(self) -> None:
        show(["checking the cluster"])
        mode = values(self._request)["mode"]
        with self._child("preflight", {"mode": mode} if mode else {}, "preflight", "json") as child:
            lines = []
            for line in child.lines():
                lines.append(line or "")
                if INTERRUPT.pressed:
                    child.interrupt()
                    return
        if child.code:
            self._result(changed=False)
            document, command = as_dict(parse_json("".join(lines))), Invocation.of(self._request).playbook("preflight")
            raise UserError(
                "preflight: the cluster is not ready, so nothing was launched: "
                f"{outcome.first_error(document)}; to see all of it: {command}; to launch anyway: -e preflight=false"
            )

    def _resume(self, point: Point) -> bool:
        """Return whether a run that outlived an earlier command is done with: it has succeeded, or is followed here."""
        if point.outcome != record.RUNNING or point.run_id is None or INTERRUPT.pressed:
            return False
        if ended := self._judge(point):
            self._change(ended)
            return ended.outcome == record.SUCCEEDED
        began = time.monotonic()
        with self._child("follow", {"run_id": point.run_id}, point.label, "jsonl") as child:
            document = self._watch(child, point, began)
        if self._run_text(point) is None:
            self._stop(point)  # what had joined when the launch was ended
            self._change(outcome.forget(point))
            return False
        self._end(self._judge(point) or outcome.unfinish(point, outcome.first_error(document)), began)
        return True

    def _launch(self, point: Point, sync: bool) -> Point:
        given, began = record.launch_parameters(self._request, point.parameters), time.monotonic()
        run_id = record.new_run_id(self._request, point, datetime.now(UTC), secrets.token_hex(2))
        point = self._change(dataclasses.replace(outcome.forget(point), outcome=record.RUNNING, run_id=run_id))
        parameters = {**given, **FOLLOWED, "label": point.label, "run_id": run_id, "sync": sync}
        with self._child("launch", parameters, point.label, "jsonl") as child:
            document = self._watch(child, point, began)
        ended = self._judge(point)
        if ended is None and self._run_text(point) is not None:
            ended = outcome.unfinish(point, outcome.first_error(document))
        if ended is None:
            ended = outcome.forget(point) if INTERRUPT.pressed else outcome.refuse(point, document)
        return self._end(ended, began)

    def _watch(self, child: ChildCommand, point: Point, began: float) -> dict[str, Any]:
        """Show what a command does with a run until it has ended; return its document."""
        document: dict[str, Any] = {}
        sample: dict[str, Any] = {}
        is_stopping = False
        best = text.best_value(self._sweep)
        for output in child.lines():
            known = as_dict(parse_json(output))
            document, sample = (known, sample) if "verb" in known else (document, known or sample)
            position = text.Position(len(self._times) + 1, self._count, self._times, time.monotonic() - began)
            drawn = text.progress_text(point, position, sample, best)
            self._line.draw(drawn, str(sample.get("phase")), last=False)
            if INTERRUPT.pressed and not is_stopping:
                is_stopping = True
                self._line.say(f"stopping {point.run_id}")
                if not sample or not self._stop(point):
                    child.interrupt()
        if is_stopping and not sample:
            self._stop(point)  # what had joined when the launch was ended
        return document

    def _stop(self, point: Point) -> bool:
        """Stop the run of a point; return whether that was possible."""
        with self._child("stop", {"run_id": point.run_id}, point.label, "json") as stop:
            document = as_dict(parse_json(stop.text()))
        if stop.code and self._run_text(point) is not None:
            command = Invocation.of(self._request).playbook("stop", "-e", f"run_id={point.run_id}")
            why = outcome.first_error(document)
            self._line.say(clean(f"{point.run_id} could not be stopped: {why}; to stop it: {command}"))
        return not stop.code

    def _run_text(self, point: Point) -> str | None:
        """Return the record of a point's run, None where there is none."""
        return read_text(self._home / str(point.run_id) / "run.yml")

    def _judge(self, point: Point) -> Point | None:
        """Return a point with what became of its run; None where it has not ended."""
        return outcome.judge_point(point, point.run_id, self._run_text(point), self._sweep.objective)

    def _child(self, verb: str, parameters: Mapping[str, Any], name: str, output: str) -> ChildCommand:
        """Start a command on the runs of this sweep. Its parameters are in a private file, as they may be secret."""
        options = self._home / f"{name}.{verb}.json"
        with private_files():
            content = json.dumps({"launch_experiments_dir": str(self._home), **parameters})
            write_text(options, content, folder.OPTION, folder.EXPECTED)
        words = [*self._request["options"], "-e", f"@{options}", "-e", f"output={output}", f"muster.train.{verb}"]
        # Whatever callback this command has: the standard output of its children is their documents alone.
        callback = {"ANSIBLE_STDOUT_CALLBACK": "muster.train.brief"}
        environment = {**os.environ, **self._request["environment"], **callback}
        return ChildCommand(words, environment, self._home / f"{name}.log")

    def _pause(self, seconds: int) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not INTERRUPT.pressed:
            time.sleep(min(1.0, left))

    def _end(self, point: Point, began: float) -> Point:
        """Keep and show what has become of a point."""
        position = text.Position(len(self._times) + 1, self._count)
        self._times.append(time.monotonic() - began)
        self._line.say(text.ended_line(point, position, self._sweep.objective))
        if point.outcome == record.SUCCEEDED and point.value is None:
            names = ", ".join(outcome.numbers_of(point.run_id, self._run_text(point)))
            self._line.say(clean(f"  it has no value {self._sweep.objective!r} to compare it by, but {names}"))
        elif point.outcome != record.SUCCEEDED:
            self._line.say(clean(f"  log: {relative(self._home / point.label)}.log"))
        return self._change(point)

    def _change(self, point: Point) -> Point:
        self._sweep = self._sweep.with_point(point)
        folder.write(self._home, self._sweep)
        return point

    def _report(self) -> None:
        self._result(changed=True)
        best, launch = outcome.best_of(self._sweep.points, self._sweep.objective), None
        show(["", *map(clean, text.table_lines(self._sweep, WIDTH)), ""])
        if best is not None:
            parameters = json.dumps(record.launch_parameters(self._request, best.parameters))
            show([f"  {text.best_line(best, self._sweep.objective)}"])
            if not SECRET_OPTION.search(parameters):
                launch = Invocation.of(self._request).playbook("launch", "-e", parameters)
                show([f"  to launch it: {launch}"])
        elif any(point.outcome == record.SUCCEEDED for point in self._sweep.points):
            show([clean(f"  no run has a value {self._sweep.objective!r} to compare it by: choose -e objective=NAME")])
        page = finished(sweep_page.render(self._sweep, launch), self._request["created"], self._request["command"])
        with private_files():
            write_text(self._home / PAGE, page, folder.OPTION, folder.EXPECTED)
        show([f"  page: {relative(self._home / PAGE)}"])
        if record.unfinished(self._sweep.points):
            end = "; the same command runs those that have not succeeded"
            raise UserError(f"{self._sweep.sweep_id}: {text.summary(self._sweep.points)}{end}")
        show([f"  {text.summary(self._sweep.points)}"])

    def _result(self, changed: bool) -> dict[str, Any]:
        """Return the result of the task, and keep the document of the verb."""
        best = outcome.best_of(self._sweep.points, self._sweep.objective)
        result = {
            "sweep_id": self._sweep.sweep_id,
            "folder": str(self._home),
            "points": [point.to_dict() for point in self._sweep.points],
        }
        if self.is_document_requested:
            known_best = best and dataclasses.asdict(best)
            self.document = {**result, "objective": self._sweep.objective, "best": known_best}
        return {"changed": changed, **result}


def _refuse_questions() -> None:
    """Refuse options with which Ansible would ask for a password at each launch."""
    asking = [name for option, name in ASKING.items() if context.CLIARGS.get(option)]
    asking += ["--vault-id" for vault in context.CLIARGS.get("vault_ids") or () if str(vault).endswith("prompt")]
    if asking:
        raise UserError(
            f"{asking[0]}: a sweep runs many commands, which cannot ask for a password; give it in a file: "
            "--connection-password-file, --become-password-file or --vault-password-file"
        )
