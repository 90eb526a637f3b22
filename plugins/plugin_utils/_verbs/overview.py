# SPDX-License-Identifier: GPL-3.0-or-later
"""A run by the answers of its nodes: who has which ranks, the verdict, and what is shown and returned of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text, relative
from .._findings.errors import ReportedError, UserError
from .._request.hints import hints
from .._results import documents, hangs, report, transports, unanswered, uncollected
from .._results.events import attempt_lines, gang_of
from .._results.infos import Info, runs_of
from .._results.ranks import place_silent, planned
from .._results.removed_nodes import add_removed_nodes
from .._results.verdict import Verdict, has_runner, judge, members
from .._text.table import aligned, node_names
from .record import experiment_of
from .step import Play, Tone

ShownLines = list[str | tuple[str, Tone]]
TONES = {"succeeded": Tone.GOOD, **dict.fromkeys(("running", "waiting", "stopped"), Tone.CHANGED)}


@frozen
class Overview:
    """A run with the answers of the nodes that have a part in it.

    replaced has the spare that took a node's ranks; outside are nodes that are not in the inventory.
    """

    play: Play
    run_id: str | None
    infos: Sequence[Info]
    verdict: Verdict
    replaced: Mapping[str, str]
    outside: Collection[str]

    @classmethod
    def of(cls, play: Play, run_id: str | None, infos: Sequence[Info]) -> Overview:
        """Read the answers of all nodes; one that gave none has its planned ranks, also outside of the inventory."""
        runs, plan = runs_of(infos), None
        inventory = {*play.groups.get("nodes", []), *play.groups.get("spares", []), *(info.node for info in infos)}
        taken = [run for run in runs if has_runner(run)]
        is_complete = all(info.answered for info in infos) and len(taken) >= max(
            (run.nnodes or 0 for run in taken), default=0
        )
        experiment = experiment_of(play, run_id)
        if experiment and (play.request.get("spares") or not is_complete):
            plan = parse_json(read_text(Path(experiment, "plan.json")))
        replaced = {**as_names(as_dict(plan).get("replaced")), **gang_of(members(runs)).replaced}
        parts = planned(plan) or {}
        placed = place_silent(runs, parts, replaced)
        infos = [dataclasses.replace(info, run=run) for info, run in zip(infos, placed, strict=True)]
        if taken:
            infos = add_removed_nodes(infos, inventory, parts, replaced)
        runs = members(runs_of(infos))
        infos = [info for info in infos if info.run in runs or has_runner(info.run)]
        outside = {str(info.run.node) for info in infos} - inventory
        return cls(play, run_id, infos, judge(runs), replaced, outside)

    @property
    def runs(self) -> list[RunRecord]:
        return runs_of(self.infos)

    def lines(self, details: Sequence[str] = (), waiting: Sequence[str] = (), has_places: bool = False) -> ShownLines:
        """Return the table, the verdict and why, and how to go on; details stand below it, and waiting at the end.

        has_places: with the directories of the run.
        """
        runs, verdict = self.runs, self.verdict
        every = bool(self.play.parameters.get("all"))
        tone = Tone.WARNING if verdict.warnings else TONES.get(verdict.verdict, Tone.ERROR)
        after = report.places(runs, shown_experiment(self.play, self.run_id)) if has_places else []
        if self.run_id:
            left = any(run.left for run in runs)
            ended = (*["stop"] * left, "logs", *["report"] * has_places)
            verbs = ("follow", "stop", "logs", "stacks") if verdict.active else ended
            after += hints(self.run_id, self.play.request.get("call"), verbs)
        return [
            "",
            *report.status_table(runs, self.play.width, self.replaced, every, self.outside),
            "",
            (report.summary(self.run_id, verdict, runs, self.replaced), tone),
            *attempt_lines(gang_of(runs).ended_attempts),
            *report.explanation(verdict),
            *self._hang_lines(),
            *self._transport_lines(),
            *details,
            *uncollected.lines(self.infos),
            *((f"  {line}", Tone.WARNING) for line in unanswered.lines(self.infos)),
            *waiting,
            *aligned(after),
        ]

    def _hang_lines(self) -> ShownLines:
        hang, lines = hangs.hang_of(members(self.runs)), hangs.lines(members(self.runs))
        return [*lines] if hang is not None and hang.is_moving else [(line, Tone.WARNING) for line in lines]

    def _transport_lines(self) -> ShownLines:
        verdict = transports.transport_of(members(self.runs))
        if verdict is None:
            return []
        texts = [f"  {text}" for text in transports.texts_of(verdict)]
        return [*texts] if transports.is_good(verdict) else [(text, Tone.WARNING) for text in texts]

    def document(self) -> dict[str, Any]:
        """Return the same for programs."""
        experiment = experiment_of(self.play, self.run_id)
        return documents.of_run(self.run_id, self.infos, self.verdict, self.replaced, experiment)

    def missing(self, what: str) -> UserError | None:
        """Return an error of the nodes that did not answer, of which the document knows; what: what that means."""
        silent = [info.node for info in self.infos if not info.answered]
        text = f"{node_names(silent)}: {what}; fix that and repeat the command"
        return ReportedError(clean(text)) if silent else None


def shown_experiment(play: Play, run_id: str | None) -> str | None:
    """Return the directory of a run's experiment as it is shortest from here."""
    path = experiment_of(play, run_id)
    return None if path is None else relative(path)
