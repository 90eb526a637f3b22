# SPDX-License-Identifier: GPL-3.0-or-later
"""`accept`: whether a cluster is what was ordered, as one report to sign.

Its stages are commands of their own: preflight, benchmarks, and the search among pairs. One that fails is recorded with
its cause, and the rest goes on. `accept.json` is written after each stage, and says what has changed since the last
acceptance of the cluster.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.child import ChildCommand
from .._action.files import read_text, relative, write_text
from .._action.interrupt import Interrupt
from .._action.private import private_files
from .._action.screen import ProgressLine, show
from .._findings.errors import UserError
from .._findings.invocation import Invocation
from .._report.accept import page, text
from .._report.accept.acceptance import Acceptance, last_of, read_acceptance
from .._report.accept.changes import changes_between
from .._report.accept.outcome import FAIL, FILE, PASS, UNKNOWN, StageOutcome, judge
from .._report.accept.page import PREFLIGHT_PAGE
from .._report.accept.profile import PAIRS, PREFLIGHT, SCOPES, STAGES, VARIABLE, StageThreshold, read_profile
from .._request.settings import given_values
from .._request.verbs import parameter_names
from .._results.documents import text as json_text
from .._results.progress import Sample, status_text
from .._sweep.child import start_child
from .._sweep.outcome import first_error
from .._text.plain import plain
from .._text.table import aligned, table
from .experiments import directories
from .questions import refuse_questions
from .record import OPTION
from .report_files import EXPECTED, report_page
from .step import Conclude, Conclusion, Play, Tone

PAGE = "accept.html"
TONES = {PASS: Tone.GOOD, FAIL: Tone.ERROR, UNKNOWN: Tone.WARNING}
# A terminal sends Ctrl-C to the commands, too.
INTERRUPTED_WITHIN_S = 3.0
NOT_RUN = "it was interrupted before this stage had ended"


@Conclude
def run(play: Play) -> Conclusion:
    """Run all stages, and report them; fail if one does."""
    refuse_questions(play.cli_options, "an acceptance")
    first, request = play.request["nodes"][0], play.request
    thresholds = read_profile(plain(play.read_values(first, [VARIABLE]).get(VARIABLE) or {}))
    planned = Acceptance(_name(request), str(request["created"]), str(request["command"]), request["cluster"])
    if play.is_checked:
        rows = [(name, text.TITLES[name], _expected(thresholds.get(name))) for name in STAGES]
        return Conclusion(lines=table(("stage", "what it runs", "expected"), rows, play.width))
    home = _make_folder(Path(request["experiments"]), planned.accept_id)
    begun = dataclasses.replace(planned, accept_id=home.name)
    show([clean(f"acceptance {home.name}: {len(STAGES)} stages; {relative(home)}")])
    interrupt = play.interrupt or Interrupt()
    with interrupt.awaited():
        _keep(home, begun)
        acceptance = _run_stages(StageCommands(request, interrupt, home), begun, thresholds)
    return _report(play, home, acceptance)


def _name(request: Mapping[str, Any]) -> str:
    digits = "".join(sign for sign in str(request["created"]) if sign.isdigit())
    return f"accept_{digits[:8]}_{digits[8:]}"


def _expected(threshold: StageThreshold | None) -> str:
    return f"{text.threshold_text(threshold)} ({threshold.source})" if threshold else ""


def _make_folder(experiments: Path, name: str) -> Path:
    """Make the directory of an acceptance, which another one may have begun in the same second."""
    names = (name if number == 1 else f"{name}_{number}" for number in range(1, 100))
    with private_files():
        for home in (experiments / name for name in names):
            try:
                home.mkdir(parents=True)
                return home
            except FileExistsError:
                continue
            except OSError as error:
                raise UserError(f"{OPTION}: {home} could not be made ({error.strerror}); expected {EXPECTED}") from None
    raise UserError(f"{OPTION}: {experiments} has a hundred acceptances of this second; remove them")


class StageCommands:
    """The stages of one acceptance, each a command that is shown until it has ended, and stopped on Ctrl-C."""

    def __init__(self, request: Mapping[str, Any], interrupt: Interrupt, home: Path) -> None:
        self.request, self.interrupt, self.home = request, interrupt, home
        self._line = ProgressLine(time.monotonic)

    def run(self, name: str, threshold: StageThreshold | None) -> StageOutcome:
        """Run a stage; return what became of it."""
        began = time.monotonic()
        document = self._run_command(name, threshold)
        stage = judge(name, document, threshold)
        if self.interrupt.pressed and stage.measured is None:
            stage = dataclasses.replace(stage, verdict=UNKNOWN, reason=NOT_RUN)
        stage = dataclasses.replace(stage, elapsed_s=round(time.monotonic() - began, 1))
        self._line.say(clean(text.ended_line(stage)))
        if stage.measured is None:
            self._line.say(clean(f"  log: {relative(self.home / name)}.log"))
        return stage

    def _run_command(self, name: str, threshold: StageThreshold | None) -> dict[str, Any]:
        """Run the command of a stage to its end; return its document."""
        verb = name if name in (PREFLIGHT, PAIRS) else "benchmark"
        parameters = self._given(verb)
        if name == PREFLIGHT:
            parameters["page"] = str(self.home / PREFLIGHT_PAGE)
        elif name in SCOPES:
            size = {"max_bytes": threshold.max_bytes} if threshold and threshold.max_bytes else {}
            parameters = {**size, **parameters, "scope": SCOPES[name], "label": name}
        with start_child(
            self.request, self.home, verb, parameters, name, "json" if name == PREFLIGHT else "jsonl"
        ) as child:
            lines, has_stopped = self._watch(child, name)
        document = as_dict(parse_json("".join(lines) if name == PREFLIGHT else "".join(lines[-1:])))
        if self.interrupt.pressed and not has_stopped and document.get("run_id"):
            self._stop(name, str(document["run_id"]))  # the launch was ended, and what had joined goes on
        return document if "verb" in document else {}

    def _watch(self, child: ChildCommand, name: str) -> tuple[list[str], bool]:
        """Show a command until its end, and stop its run on Ctrl-C; return its lines, and whether it was stopped."""
        lines, run_id, ends_at, has_stopped = [], "", 0.0, False
        self._draw(name, {})
        for line in child.lines():
            if line is not None:
                lines.append(line)
                sample = as_dict(parse_json(line))
                if "event" in sample:
                    run_id = str(sample["run_id"])
                    self._draw(name, sample)
            if not self.interrupt.pressed or has_stopped:
                continue
            if not ends_at:
                self._line.say(f"stopping {name}")
                ends_at = time.monotonic() + INTERRUPTED_WITHIN_S
                has_stopped = bool(run_id) and self._stop(name, run_id)
            elif time.monotonic() > ends_at:
                child.interrupt()
                ends_at = math.inf
        return lines, has_stopped

    def _given(self, verb: str) -> dict[str, Any]:
        """Return the parameters of a verb that were given for this acceptance."""
        names = {*parameter_names(verb)} - {"output"}
        return {name: value for name, value in given_values(self.request["parameters"]).items() if name in names}

    def _draw(self, name: str, sample: Mapping[str, Any]) -> None:
        phase = str(sample.get("phase") or "starting")
        now = Sample(clean(phase), 0, 0.0, Progress.optional(sample.get("progress")), begun=True)
        status = status_text(now) if sample.get("phase") else phase
        self._line.draw(
            clean(f"stage {STAGES.index(name) + 1} of {len(STAGES)}: {name} · {status}"), name + phase, last=False
        )

    def _stop(self, name: str, run_id: str) -> bool:
        """Stop the run of a stage; return whether that was possible."""
        with start_child(self.request, self.home, "stop", {"run_id": run_id}, name, "json") as child:
            document = as_dict(parse_json(child.text()))
        if child.code and (self.home / run_id).exists():
            remedy = Invocation.of(self.request).playbook("stop", "-e", f"run_id={run_id}")
            why = first_error(document)
            self._line.say(clean(f"{run_id} could not be stopped: {why}; to stop it: {remedy}"))
        return not child.code


def _run_stages(
    commands: StageCommands, acceptance: Acceptance, thresholds: Mapping[str, StageThreshold]
) -> Acceptance:
    """Run the stages one after the other, until Ctrl-C; what became of each is kept at once."""
    for name in STAGES:
        threshold = thresholds.get(name)
        is_over = commands.interrupt.pressed
        stage = StageOutcome(name, UNKNOWN, NOT_RUN, threshold=threshold) if is_over else commands.run(name, threshold)
        acceptance = dataclasses.replace(acceptance, stages=[*acceptance.stages, stage])
        _keep(commands.home, acceptance)
    return dataclasses.replace(acceptance, is_complete=not commands.interrupt.pressed)


def _keep(home: Path, acceptance: Acceptance) -> str:
    """Write what is known of an acceptance; return its text."""
    content = json_text(acceptance.to_document()) + "\n"
    with private_files():
        write_text(home / FILE, content, OPTION, EXPECTED)
    return content


def _report(play: Play, home: Path, acceptance: Acceptance) -> Conclusion:
    """Report all stages, and what is different from the last acceptance of the cluster."""
    earlier = (read_acceptance(read_text(path / FILE)) for path in directories(home.parent) if (path / FILE).is_file())
    before = last_of(earlier, acceptance)
    if before:
        acceptance = dataclasses.replace(
            acceptance, against=before.accept_id, changes=changes_between(before, acceptance)
        )
    content = _keep(home, acceptance)
    lines: list[str | tuple[str, Tone]] = ["", *table(text.HEADERS, text.rows(acceptance.stages), play.width)]
    lines += ["", clean(f"  {text.since(acceptance)}")]
    lines += table(text.CHANGE_HEADERS, text.change_rows(acceptance.changes), play.width)
    conclusion, failure = clean(f"{acceptance.accept_id}: {text.conclusion(acceptance)}"), None
    if acceptance.verdict == FAIL or not acceptance.is_complete:
        failure = UserError(conclusion)
    path = home / PAGE
    notes = aligned([("page", relative(path)), ("document", relative(home / FILE))])
    return Conclusion(
        lines=[*lines, "", (conclusion, TONES[acceptance.verdict])],
        files=[report_page(play.request, path, page.render(acceptance, before, content), notes)],
        document={"folder": str(home), "page": str(path), "acceptance": acceptance.to_document()},
        is_changed=True,
        failure=failure,
        is_shown=failure is not None,
    )
