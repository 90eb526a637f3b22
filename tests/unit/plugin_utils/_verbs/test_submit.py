# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `submit`, and what `status`, `follow` and `stop` do with a run in the queue, by what Slurm prints."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._verbs import submit as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs import submitted
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.reports import RUN_ID
from ansible_collections.muster.train.tests.support.verbs import DEFAULT, play_of, texts

PARTITION = "PartitionName=gpu Default=YES MaxNodes=UNLIMITED MaxTime=UNLIMITED State=UP TotalNodes=4\n"
REFUSED = "sbatch failed: sbatch: error: Batch job submission failed: Requested node configuration is not available"
NOT_GIVEN = ("partition", "time", "account", "qos", "reservation", "constraint", "exclude", "gpus", "gres")


class Slurm:
    """A Slurm with one job, whose state the test chooses; scancel ends it. sbatch refuses where there is no answer."""

    def __init__(self, state: str | None = None, reason: str = "None", answer: str | None = "12\n") -> None:
        self.state, self._reason, self._answer = state, reason, answer
        self.name = RUN_ID
        self.calls: list[list[str]] = []

    def run(self, argv: Sequence[str]) -> str:
        self.calls.append(list(argv))
        if argv[0] == "scontrol":
            return PARTITION
        if argv[0] == "sbatch":
            if self._answer is None:
                raise UserError(REFUSED)
            self.state = self.state if "--test-only" in argv else "PENDING"
            return self._answer
        if argv[0] == "scancel":
            self.state = "CANCELLED"
            return ""
        nodes = "gpu[01-04]" if self.state in ("RUNNING", "COMPLETED") else ""
        start = "N/A" if self.state == "PENDING" else "1796004120"
        rest = f"{nodes}|{start}|N/A|UNLIMITED|{self.name}\n"
        return "" if self.state is None else f"12|{self.state}|{self._reason}|{rest}"


def play(of: str, folder: Path, slurm: Slurm, **changes: Any) -> Play:
    """Return a play of a verb on the run of the test, which is in the queue where it was submitted."""
    experiments, home = str(folder), str(folder / RUN_ID)
    parameters: dict[str, Any] = {name: {"value": None, **DEFAULT} for name in NOT_GIVEN} if of == "submit" else {}
    if of == "submit":
        cluster = {"value": "train.py", "origin": "launch_defaults", "layer": "cluster"}
        parameters.update({"nnodes": 4, "channels": 42, "exclusive": True, "sbatch_options": [], "script": cluster})
    made = play_of(
        of,
        {},
        parameters,
        experiments=experiments,
        experiment=home,
        environment={"ANSIBLE_CONFIG": "a b.cfg", "MUSTER_SLURM_JOB_ID": "7"},
        options=["-i", "inventories/slurm"],
        is_in_queue=of != "submit",
        cluster="slurm",
        controller={"host": "login", "user": "ada"},
        versions={},
    )
    times = iter(range(1000))
    return dataclasses.replace(
        made, run_slurm=slurm.run, clock=lambda: float(next(times)), pause=lambda _seconds: None, **changes
    )


def write(conclusion: Conclusion) -> Conclusion:
    """Write the files, as the action that carries the step does."""
    for file in conclusion.files:
        assert file.is_private
        file.path.write_text(file.text)
    return conclusion


def submit(folder: Path, slurm: Slurm) -> Conclusion:
    return write(verb.submit.conclusion(play("submit", folder, slurm)))


def record(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / RUN_ID / "run.yml").read_text()))


def documented(of: str, conclusion: Conclusion) -> dict[str, Any]:
    """Return the job of a document, which has the form that the schema says."""
    assert conclusion.document is not None
    document = documents.document(of, None, None, conclusion.document)
    assert schemas.errors(document) == []
    job: dict[str, Any] = document["job"]
    return job


def test_a_launch_is_submitted_with_what_was_given_for_it(tmp_path: Path) -> None:
    slurm = Slurm()
    submitted_run = submit(tmp_path, slurm)
    home = tmp_path / RUN_ID
    # What the cluster's defaults say, the launch in the job reads there.
    assert json.loads((home / "launch.json").read_text()) == {"channels": 42, "nnodes": 4, "run_id": RUN_ID}
    script = (home / "submit.sh").read_text()
    assert "export ANSIBLE_CONFIG='a b.cfg'" in script.splitlines()
    assert "export MUSTER_SLURM_JOB_ID" not in script
    assert f"-i inventories/slurm -e @{home}/launch.json muster.train.launch" in script
    [call] = [call for call in slurm.calls if call[0] == "sbatch"]
    assert {f"--job-name={RUN_ID}", "--nodes=4", str(home / "submit.sh")} <= {*call}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (home / "launch.json", home / "submit.sh"))
    assert record(tmp_path)["verdict"] == "queued"
    assert (documented("submit", submitted_run)["id"], submitted_run.is_changed) == ("12", True)


def test_limits_are_those_of_the_partition_that_sbatch_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "gpux")
    with pytest.raises(InvalidRequest):
        submit(tmp_path, Slurm())
    monkeypatch.setenv("SBATCH_PARTITION", "gpu")
    submit(tmp_path, Slurm())


@pytest.mark.parametrize("answer", [None, "not a job\n"])
def test_what_slurm_refuses_leaves_nothing(tmp_path: Path, answer: str | None) -> None:
    with pytest.raises(UserError):
        submit(tmp_path, Slurm(answer=answer))
    assert not (tmp_path / RUN_ID / "run.yml").exists()
    assert answer is not None or not (tmp_path / RUN_ID).exists()


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING"])
def test_a_run_is_one_job_at_a_time(tmp_path: Path, state: str) -> None:
    with pytest.raises(UserError):
        submit(tmp_path, Slurm(state))


def test_a_run_that_has_ended_is_submitted_again(tmp_path: Path) -> None:
    home = tmp_path / RUN_ID
    home.mkdir()
    (home / "run.yml").write_text("verdict: failed\nnonce: a\n")
    submit(tmp_path, Slurm("FAILED"))
    # Its launch will record the next attempt.
    assert record(tmp_path) == {"verdict": "failed", "nonce": "a"}


@pytest.mark.parametrize("nonce", [None, "a"])
def test_an_earlier_launch_says_nothing_of_the_job(tmp_path: Path, nonce: str | None) -> None:
    home, slurm = tmp_path / RUN_ID, Slurm()
    home.mkdir()
    (home / "run.yml").write_text(json.dumps({"verdict": "succeeded", "nonce": nonce, "mine": 1}))
    submit(tmp_path, slurm)
    assert documented("status", submitted.report(play("status", tmp_path, slurm)))["verdict"] == "queued"
    slurm.state = "FAILED"
    followed = write(submitted.follow(play("follow", tmp_path, slurm)))
    assert (documented("follow", followed)["verdict"], followed.failure is None) == ("failed", False)
    # What is recorded of an earlier launch stays as it is.
    assert (record(tmp_path)["verdict"], record(tmp_path)["mine"]) == ("succeeded" if nonce else "failed", 1)


@pytest.mark.parametrize(
    ("state", "verdict", "shown"),
    [
        ("PENDING", "queued", "PENDING"),
        ("RUNNING", "queued", "RUNNING"),
        ("CANCELLED", "stopped", "CANCELLED"),
        ("FAILED", "failed", "FAILED"),
        (None, "failed", None),  # Slurm has forgotten it before its end was seen
    ],
)
def test_the_status_of_a_run_whose_launch_has_not_begun(
    tmp_path: Path, state: str | None, verdict: str, shown: str | None
) -> None:
    slurm = Slurm()
    submit(tmp_path, slurm)
    slurm.state = state
    report = write(submitted.report(play("status", tmp_path, slurm)))
    job = documented("status", report)
    assert (job["state"], job["verdict"], record(tmp_path)["verdict"]) == (shown, verdict, verdict)
    assert texts(report)
    slurm.state = None
    # What was seen of its end is still known.
    again = documented("status", submitted.report(play("status", tmp_path, slurm)))
    assert again["state"] == (shown if verdict != "queued" else None)


def test_a_job_that_waits_is_cancelled_and_seen_to_have_ended(tmp_path: Path) -> None:
    slurm = Slurm()
    submit(tmp_path, slurm)
    ended = write(submitted.end(play("stop", tmp_path, slurm), RUN_ID))
    cancel = ["scancel", f"--name={RUN_ID}", "12"]
    assert cancel in slurm.calls
    assert (documented("stop", ended)["state"], record(tmp_path)["verdict"]) == ("CANCELLED", "stopped")
    count = slurm.calls.count(cancel)
    assert not submitted.end(play("stop", tmp_path, slurm), RUN_ID).is_changed
    assert slurm.calls.count(cancel) == count


def test_another_job_of_the_same_id_is_left_alone(tmp_path: Path) -> None:
    slurm = Slurm()
    submit(tmp_path, slurm)
    slurm.state, slurm.name = "RUNNING", "mine"
    ended = submitted.end(play("stop", tmp_path, slurm), RUN_ID)
    assert (documented("stop", ended)["state"], slurm.state) == (None, "RUNNING")


def test_a_job_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    class Deaf(Slurm):
        def run(self, argv: Sequence[str]) -> str:
            return "" if argv[0] == "scancel" else super().run(argv)

    slurm = Deaf()
    submit(tmp_path, slurm)
    with pytest.raises(UserError):
        submitted.end(play("stop", tmp_path, slurm), RUN_ID)


def test_in_check_mode_nothing_is_submitted_or_ended(tmp_path: Path) -> None:
    slurm = Slurm()
    shown = verb.submit.conclusion(play("submit", tmp_path, slurm, is_checked=True))
    assert not (tmp_path / RUN_ID).exists()
    assert "#SBATCH --nodes=4" in texts(shown)
    assert all("--test-only" in call for call in slurm.calls if call[0] == "sbatch")
    submit(tmp_path, slurm)
    submitted.end(play("stop", tmp_path, slurm, is_checked=True), RUN_ID)
    assert slurm.state == "PENDING"


def test_a_follow_ends_with_the_verdict_of_the_run(tmp_path: Path) -> None:
    slurm = Slurm()
    submit(tmp_path, slurm)
    (tmp_path / RUN_ID / "job.log").write_text("gathered 4 nodes\nsucceeded\n")
    slurm.state = "COMPLETED"
    path = tmp_path / RUN_ID / "run.yml"
    path.write_text("verdict: succeeded\nnonce: a\n")
    assert submitted.follow(play("follow", tmp_path, slurm)).failure is None
    path.write_text("verdict: failed\nnonce: a\nwhy: gpu03 failed\n")
    followed = submitted.follow(play("follow", tmp_path, slurm))
    assert isinstance(followed.failure, UserError)
    assert documented("follow", followed)["why"] == "gpu03 failed"


@pytest.mark.parametrize(("failures", "is_error"), [(3, False), (1000, True)])
def test_a_follow_waits_for_a_controller_that_is_restarted(tmp_path: Path, failures: int, is_error: bool) -> None:
    class Restarted(Slurm):
        looks = 0

        def run(self, argv: Sequence[str]) -> str:
            self.looks += 1
            if 1 < self.looks <= 1 + failures:
                self.state = "COMPLETED"
                raise UserError("squeue failed")
            return super().run(argv)

    submit(tmp_path, Slurm())
    (tmp_path / RUN_ID / "run.yml").write_text("verdict: succeeded\nnonce: a\n")
    following = play("follow", tmp_path, Restarted("RUNNING"))
    if is_error:
        with pytest.raises(UserError):
            submitted.follow(following)
    else:
        assert submitted.follow(following).failure is None


def test_a_run_that_was_not_submitted_has_no_job(tmp_path: Path) -> None:
    slurm = Slurm("RUNNING")
    assert submitted.end(play("stop", tmp_path, slurm), RUN_ID) == Conclusion()
    assert submitted.data(play("status", tmp_path, slurm), RUN_ID) is None
    assert slurm.calls == []
