# SPDX-License-Identifier: GPL-3.0-or-later
"""`submit`: the same launch, put into Slurm's queue: when its job gets its nodes, a batch script types it there.

No node is contacted. What can never start is refused, then the script and the launch's parameters are written into the
experiment, and sbatch gets the script. The run ID is known from then on, and is the job's name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.child import ansible_playbook
from .._action.files import relative, write_text
from .._action.private import private_files
from .._findings.errors import UserError
from .._findings.origin import Layer, Origin
from .._request.hints import command
from .._request.request import InvalidRequest
from .._request.settings import Setting, given_values, setting_of
from .._request.verbs import parameter_names
from .._results import experiment
from .._slurm import partition
from .._slurm.batch import OUTPUT, PARAMETERS, SCRIPT, UNSET, Batch, parse_answer, sbatch_options
from .._slurm.queue import of_run
from .._slurm.submission import FILE, Submission, job_data
from .._text.table import aligned
from .questions import refuse_questions
from .record import OPTION
from .step import Conclude, Conclusion, Play, Symlink, WantedFile
from .submitted import QUEUED, RECORD, describe, next_commands, read_record

EXPECTED = "a directory that you can write to"
HINTS = ("follow", "stop", "status")


@Conclude
def submit(play: Play) -> Conclusion:
    """Submit the launch; in check mode only show the script, and let Slurm judge the options."""
    refuse_questions(play.cli_options, "a job")
    request, home = play.request, Path(play.request["experiment"])
    if (standing := of_run(request["run_id"], play.run_slurm)) and not standing.has_ended:
        stop = command("stop", request["run_id"], request.get("call"))
        raise UserError(clean(f"run_id: {request['run_id']} is submitted: job {describe(standing)}; to end it: {stop}"))
    partitions = partition.parse_partitions(play.run_slurm(partition.ASK))
    if lines := partition.refusals(partitions, {**request["parameters"], **_of_sbatch(request["parameters"])}):
        raise InvalidRequest(lines)
    batch = _batch(request, home, play.parameters)
    script = batch.script()
    document = {"run_id": request["run_id"], "experiment": str(home), "script": script}
    if play.is_checked:
        _test(play, batch)
        return Conclusion(lines=["", *map(clean, script.splitlines())], document=document)
    is_new = not home.exists()
    try:
        with private_files():
            write_text(home / PARAMETERS, json.dumps(_parameters(request), indent=2) + "\n", OPTION, EXPECTED)
            write_text(home / SCRIPT, script, OPTION, EXPECTED)
        # Options of the command line count, whatever variables such as SBATCH_PARTITION say.
        answer = play.run_slurm(["sbatch", "--parsable", *batch.options, str(home / SCRIPT)])
    except UserError as error:
        _withdraw(home, is_new)
        raise _refused(error) from None
    number = parse_answer(answer)
    if number is None:
        raise UserError(clean(f"sbatch: expected the ID of a job, saw {answer!r}; see squeue --me"))
    submission = Submission(number, request["created"], earlier=read_record(home).get("nonce"))
    job = of_run(request["run_id"], play.run_slurm)
    places = [("job", describe(job) if job else number), ("script", relative(home / SCRIPT))]
    places.append(("output", relative(home / OUTPUT)))
    commands = aligned([*places, *next_commands(play, request["run_id"], HINTS)])
    return Conclusion(
        files=[_file(home / FILE, submission.text()), *_record(request, home)],
        links=[Symlink(home.parent / "latest", home.name, is_newest=True)],
        closing_lines=["", clean(f"submitted {request['run_id']}"), *commands],
        document={**document, "job": job_data(submission, job, {"verdict": QUEUED})},
        result={"run_id": request["run_id"], "job": number},
        is_changed=True,
    )


def _of_sbatch(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return what sbatch takes from its variables, of what decides where a job can start."""
    given = {name: f"SBATCH_{name.upper()}" for name in ("partition", "qos") if settings[name]["value"] is None}
    return {
        name: setting_of(os.environ[variable], Origin(Layer.ENVIRONMENT, variable))
        for name, variable in given.items()
        if variable in os.environ
    }


def _test(play: Play, batch: Batch) -> None:
    """Let Slurm judge the options."""
    try:
        play.run_slurm(["sbatch", "--test-only", *batch.options, "--wrap=true"])
    except UserError as error:
        raise _refused(error) from None


def _refused(error: UserError) -> UserError:
    return UserError(clean(f"{error}; see what the partitions have: sinfo --format='%P %D %G %f %l'"))


def _batch(request: Mapping[str, Any], home: Path, values: Mapping[str, Any]) -> Batch:
    carried = {**request["environment"], **({"LC_ALL": os.environ["LC_ALL"]} if "LC_ALL" in os.environ else {})}
    words = [*request["options"], "-e", f"@{home / PARAMETERS}", "muster.train.launch"]
    return Batch(
        run_id=request["run_id"],
        home=str(home),
        directory=os.getcwd(),
        options=sbatch_options(request["run_id"], str(home), values),
        environment={name: text for name, text in carried.items() if name not in UNSET or name == "LC_ALL"},
        words=[ansible_playbook(), *words],
    )


def _parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the launch in the job gets by -e beside the options that every verb carries."""
    names = {*parameter_names("launch")}
    given = {name: value for name, value in given_values(request["parameters"]).items() if name in names}
    return {**given, "run_id": request["run_id"]}


def _record(request: Mapping[str, Any], home: Path) -> list[WantedFile]:
    """Return the record of a run that was not launched before, which `list` shows until it is."""
    if (before := read_record(home)).get("nonce"):
        return []
    record = experiment.record(request["run_id"], None, {**request, "verb": "launch", "nonce": None}, [], None)
    return [_file(home / RECORD, experiment.dump({**before, **record, "verdict": QUEUED}))]


def _withdraw(home: Path, is_new: bool) -> None:
    """Remove what was written for a job that Slurm has refused."""
    for name in (PARAMETERS, SCRIPT):
        (home / name).unlink(missing_ok=True)
    if is_new and home.is_dir() and not any(home.iterdir()):
        home.rmdir()


def _file(path: Path, text: str) -> WantedFile:
    return WantedFile(path, text, OPTION, EXPECTED, is_private=True)
