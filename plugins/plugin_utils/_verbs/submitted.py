# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that was submitted: what its job does in Slurm's queue, what the job prints, and how it is ended.

`status`, `stop` and `follow` come here where the run is not on nodes that can be asked. All of it is on the controller:
Slurm says what the job does, and the experiment has what the launch in the job leaves there, also after Slurm has
forgotten the job. While the run is on nodes, they work as everywhere.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc

from .._action.files import read_text, relative
from .._action.interrupt import Interrupt
from .._action.screen import ProgressLine, print_after_interrupt, show
from .._findings.errors import UserError
from .._request.hints import command
from .._request.run_id import check as check_run_id
from .._results import experiment
from .._slurm.batch import EXIT, OUTPUT
from .._slurm.job import SlurmJob
from .._slurm.queue import find_by_id, fix_of
from .._slurm.submission import FILE, Submission, job_data, parse_submission
from .._text.table import aligned
from .record import OPTION
from .step import Conclusion, Play, Tone, WantedFile

OF_QUEUE = ("status", "stop", "follow")
RECORD = "run.yml"
QUEUED = "queued"  # the verdict of a run whose launch has not begun
POLL_S, ASK_S = 1.0, 5.0
SILENT_S = 300.0  # a slurmctld that is restarted, or busy
# What a launch prints when it begins is of use to who follows it later; of more, the last lines are.
EARLIER_LINES = 10
# The launch in the job collects the run before the job ends by itself; then Slurm ends what is left within KillWait.
COLLECT_S, END_S = 90.0, 180.0


@frozen
class Submitted:
    """A submitted run: job is None where Slurm has forgotten it, and record what its experiment says."""

    run_id: str
    home: Path
    submission: Submission
    job: SlurmJob | None
    record: Mapping[str, Any]

    @classmethod
    def look(cls, play: Play, run_id: str) -> Submitted | None:
        """Return what is known of a run now, None where it was not submitted; raise UserError if Slurm is silent."""
        submission = read_submission(play.request["experiments"], run_id)
        if submission is None:
            return None
        # Another cluster, or Slurm after it has lost its state, gives the same ID to another job.
        jobs = [job for job in find_by_id(submission.job, play.run_slurm) if job.name == run_id]
        home = Path(play.request["experiments"], run_id)
        return cls(run_id, home, submission, jobs[0] if jobs else None, read_record(home))

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended."""
        return self.job is None or self.job.has_ended

    @property
    def verdict(self) -> str:
        """What the record says of the run."""
        return str(self.record.get("verdict") or "unknown")

    def settled(self) -> Submitted:
        """Return it with what the job means for a run whose launch in the job has not begun."""
        if self.submission.is_launched(self.record):
            return self
        if not self.has_ended:
            return dataclasses.replace(self, record={**self.record, "verdict": QUEUED, "why": None})
        state = self.job.state if self.job else self.submission.state
        verdict = "stopped" if str(state).startswith("CANCEL") else "failed"
        code = (read_text(self.home / EXIT) or "").strip()
        how = f"{state or 'its state is not known any more'}{f', exit code {code}' if code else ''}"
        why = f"its job {self.submission.job} has ended before the run started ({how})"
        return dataclasses.replace(self, record={**self.record, "verdict": verdict, "why": why})

    def files(self) -> list[WantedFile]:
        """Return what the experiment keeps of the job's end, which Slurm forgets."""
        if not self.has_ended:
            return []
        kept = dataclasses.replace(self.submission, state=self.job.state if self.job else self.submission.state)
        files = [_file(self.home / FILE, kept.text())]
        if self.settled() is not self and not self.record.get("nonce"):  # else it is that of an earlier launch
            files.append(_file(self.home / RECORD, experiment.dump(self.settled().record)))
        return files

    def data(self) -> dict[str, Any]:
        """Return the job for programs."""
        return job_data(self.submission, self.job, self.settled().record)

    def document(self) -> dict[str, Any]:
        """Return what is known, for programs."""
        return {"run_id": self.run_id, "experiment": str(self.home), "job": self.data()}

    def lines(self, play: Play) -> list[str | tuple[str, Tone]]:
        """Return what the run and its job do, and how to go on."""
        run, details = self.settled(), []
        places = [("job", self._describe())]
        if self.home.joinpath(OUTPUT).exists():
            places.append(("output", relative(self.home / OUTPUT)))
        verbs: Sequence[str] = ("follow", "stop")
        tone = Tone.CHANGED
        if self.has_ended:
            summary = f"{self.run_id}: {run.verdict}"
            details = [f"  {clean(run.record['why'])}"] if run.record.get("why") else []
            verbs = ("report",) if self.record.get("nonce") else ()
            tone = Tone.GOOD if run.verdict == "succeeded" else Tone.ERROR
            if run.verdict not in ENDED:
                tone, summary = Tone.WARNING, f"{self.run_id}: {run.verdict}, when it was last seen"
                places.append(("collect", self._collect(play)))
        elif self.job is not None and self.job.waits:
            summary = f"{self.run_id} waits in Slurm's queue"
        elif run.verdict != QUEUED:
            summary = f"{self.run_id}: its job runs"
        else:
            summary = f"{self.run_id}: its job runs, and its launch has not started it yet"
        return ["", (clean(summary), tone), *details, *aligned([*places, *next_commands(play, self.run_id, verbs)])]

    def _describe(self) -> str:
        if self.job is None:
            state = self.submission.state
            return f"{self.submission.job}, {state or 'which Slurm does not know any more'}"
        return describe(self.job)

    def _collect(self, play: Play) -> str:
        """Return the command that collects, from files that all share, what the job has left."""
        plan = as_dict(parse_json(read_text(self.home / "plan.json")))
        nodes = ",".join(map(str, plan.get("nodes") or [])) or (self.job.nodes if self.job else "")
        again = command("collect", self.run_id, play.request.get("call"))
        return f"MUSTER_SLURM_CONNECTION=local MUSTER_SLURM_NODE_LIST='{nodes}' {again}"


def read_submission(experiments: str, run_id: object) -> Submission | None:
    """Return the submission of a run, None without one, or without a valid run ID."""
    try:
        home = Path(experiments, check_run_id(str(run_id)))
    except ValueError:
        return None
    return parse_submission(read_text(home / FILE))


def next_commands(play: Play, run_id: str, verbs: Sequence[str]) -> list[tuple[str, str]]:
    """Return (verb, command) for each verb: by the run ID alone, from any shell."""
    return [(verb, command(verb, run_id, play.request.get("call"))) for verb in verbs]


def describe(job: SlurmJob) -> str:
    """Return what a job does, in one line, with what to do where it would wait forever."""
    if job.waits:
        start = f", estimated start {utc(job.start)}" if job.start is not None else ", no estimated start"
        fix = fix_of(job)
        reason = f" ({job.reason})" if job.reason != "None" else ""
        return f"{job.number}, {job.state}{reason}{start}{f'; {fix}' if fix else ''}"
    until = f", until {utc(job.end)} at the latest" if job.has_nodes and job.end is not None else ""
    return f"{job.number}, {job.state}{f' on {job.nodes}' if job.nodes else ''}{until}"


def data(play: Play, run_id: str) -> dict[str, Any] | None:
    """Return the job of a run that is on nodes, for programs; None where it was not submitted."""
    submission = read_submission(play.request["experiments"], run_id)
    if submission is None:
        return None
    with contextlib.suppress(UserError):  # its nodes have answered, whatever Slurm does
        return _look(play, run_id).data()
    return job_data(submission, None, read_record(Path(play.request["experiments"], run_id)))


def report(play: Play) -> Conclusion:
    """Show the run by its job and its experiment."""
    run = _look(play)
    files = [dataclasses.replace(file, is_needed=False) for file in run.files()]
    return Conclusion(lines=run.lines(play), document=run.document(), files=files, result={"run_id": run.run_id})


def follow(play: Play) -> Conclusion:
    """Wait for the job, and show what its launch prints, until it has ended; fail if the run has not succeeded."""
    run = _look(play)
    if play.is_checked:
        return Conclusion(lines=run.lines(play), document=run.document(), result={"ended": False})
    line, output, interrupt = ProgressLine(play.clock), _Output(run.home / OUTPUT), play.interrupt or Interrupt()
    answered = asked = play.clock()
    with interrupt.awaited():
        while True:
            has_ended = run.has_ended  # before what it printed is read
            show(output.new_lines())
            if has_ended or interrupt.pressed:
                break
            if run.job is not None and run.job.waits:
                line.draw(f"job {describe(run.job)}", run.job.reason, last=False)
            play.pause(POLL_S)
            if play.clock() - asked >= ASK_S:
                try:
                    run, answered = _look(play), play.clock()
                except UserError:
                    if play.clock() - answered > SILENT_S:
                        raise
                asked = play.clock()
    if not run.has_ended:
        print_after_interrupt(f"{run.run_id} and its job {run.submission.job} go on")
        return Conclusion(lines=run.lines(play), document=run.document(), result={"ended": False})
    run = _look(play)  # the launch has recorded the run by now
    failure, settled = None, run.settled()
    if settled.verdict != "succeeded":
        why = settled.record.get("why")
        failure = UserError(clean(f"{run.run_id} {settled.verdict}{f': {why}' if why else ''}"))
    return Conclusion(
        lines=run.lines(play),
        document=run.document(),
        files=run.files(),
        result={"ended": False},  # nothing is left to collect from nodes
        failure=failure,
        is_shown=failure is not None,
    )


def end(play: Play, run_id: str) -> Conclusion:
    """End the job of a run, and return when it has ended; a run that has ended on its nodes is collected first."""
    run = Submitted.look(play, run_id)
    if run is None:
        return Conclusion()
    is_on_nodes = not play.request.get("is_in_queue")
    if play.is_checked or run.has_ended:
        return Conclusion(lines=run.lines(play), document=run.document(), files=run.files())
    if not (is_on_nodes and _await_end(play, run_id, COLLECT_S)):
        play.run_slurm(["scancel", f"--name={run_id}", run.submission.job])
        if not _await_end(play, run_id, END_S):
            number = run.submission.job
            raise UserError(
                f"job {number}: expected its end within {END_S:.0f} s of scancel, saw none; see scontrol show job "
                f"{number}, and slurmd on its nodes"
            )
    run = _look(play, run_id)
    lines = [f"  {aligned([('job', run._describe())])[0].strip()}"] if is_on_nodes else run.lines(play)
    return Conclusion(lines=lines, document=run.document(), files=run.files(), is_changed=True)


def _await_end(play: Play, run_id: str, seconds: float) -> bool:
    """Return whether the job has ended by then."""
    deadline = play.clock() + seconds
    while not _look(play, run_id).has_ended:
        if play.clock() > deadline:
            return False
        play.pause(POLL_S)
    return True


def _look(play: Play, run_id: str | None = None) -> Submitted:
    """Return a run that was submitted, as the request knows."""
    run = Submitted.look(play, run_id or play.request["run_id"])
    if run is None:
        raise UserError(f"{Path(play.request['experiments'], play.request['run_id'] or '', FILE)} is gone")
    return run


class _Output:
    """What the job prints: its new lines, of which the first look takes the last ones only."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._is_first = path, 0, True

    def new_lines(self) -> Iterator[str]:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines = whole.decode("utf-8", "replace").splitlines()
        yield from map(clean, lines[-EARLIER_LINES:] if self._is_first else lines)
        self._is_first = False


def read_record(home: Path) -> Mapping[str, Any]:
    """Return the record of an experiment, empty without one."""
    try:
        return experiment.load(read_text(home / RECORD) or "")
    except ValueError:
        return {}


def _file(path: Path, text: str) -> WantedFile:
    return WantedFile(path, text, OPTION, is_private=True)
