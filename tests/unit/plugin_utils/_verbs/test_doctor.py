# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures import text
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.signature import CAUSE, CONSEQUENCE
from ansible_collections.muster.train.plugins.plugin_utils._verbs import doctor
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.compared_runs import write_run
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

RUN, OLDER = "train_20261120_143052", "train_20261119_143052"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CLOSED = "RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.2]:46290."
SURVIVED = "PermissionError: [Errno 13] Permission denied: '/x'"
LATE = "2026-11-20T14:30:12.000Z"
PLAN = {"nodes": ["n0", "n1"], "spares": [], "nproc": 2}
LAUNCHER = "E1120 failed (exitcode: 1) local_rank: 1 (pid: 26497) of binary: /usr/bin/python"
LOGS = {
    "ranks/rank_00.log": f"2026-11-20T14:30:11.000Z {CLOSED}\n",
    "ranks/rank_03.log": f"2026-11-20T14:30:12.000Z {OOM}\n",
    "ranks/rank_10.previous.log": f"2026-11-20T14:30:02.000Z {OOM}\n",
    "nodes/1/node.log": f"2026-11-20T14:30:13.000Z {LAUNCHER}\n",
    "nodes/1/job.json": json.dumps({"node": "n1"}),
    "nodes/2/runner.log": "\0\xff no job beside it\n",
    "outputs/a.log": OOM,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path, OLDER, 8, 2.0, created="2026-11-19T14:30:52Z")
    write_run(tmp_path, RUN, 8, 2.0, created="2026-11-20T14:30:52Z", verdict="failed", why="n1: rank 3 failed")
    for name, content in {**LOGS, "plan.json": json.dumps(PLAN)}.items():
        path = tmp_path / RUN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="latin-1")
    return tmp_path


def concluded(folder: Path, run_id: str | None = None, **parameters: Any) -> Conclusion:
    play = play_of("doctor", {}, {"file": None, **parameters}, experiments=str(folder), run_id=run_id)
    conclusion = doctor.report.conclusion(play)
    assert texts(conclusion)
    document = documents.document("doctor", None, None, conclusion.document or {})
    assert schemas.errors(document) == []
    return conclusion


def test_the_newest_run_is_diagnosed(folder: Path) -> None:
    document = concluded(folder).document or {}
    assert (document["run_id"], document["experiment"], document["logs"]) == (RUN, str(folder / RUN), 5)
    places = {
        one["name"]: [(place["node"], place["rank"], place["file"]) for place in one["places"]]
        for one in document["diagnoses"]
    }
    assert list(places.items()) == [
        ("cuda_out_of_memory", [(None, 10, "ranks/rank_10.previous.log"), ("n1", 3, "ranks/rank_03.log")]),
        ("gloo_peer_closed", [("n0", 0, "ranks/rank_00.log")]),
        ("torchrun_child_failed", [("n1", None, "nodes/1/node.log")]),
    ]


def test_a_run_without_logs_is_to_be_collected(folder: Path) -> None:
    with pytest.raises(UserError, match=f"muster.train.collect -e run_id={OLDER}"):
        concluded(folder, OLDER)


def test_a_run_that_is_not_here(folder: Path) -> None:
    with pytest.raises(UserError, match=RUN):
        concluded(folder, f"{RUN}_x")


def test_the_log_that_somebody_has(folder: Path) -> None:
    path = folder / "theirs.txt"
    path.write_text(f"hello\n[rank7]: {OOM}\n", encoding="utf-8")
    document = concluded(folder, file=str(path)).document or {}
    (diagnosis,) = document["diagnoses"]
    (place,) = diagnosis["places"]
    assert (document["run_id"], document["file"], document["bytes"]) == (None, str(path), path.stat().st_size)
    assert (place["node"], place["rank"], place["file"], place["line"]) == (None, 7, str(path), 2)


def test_a_log_without_a_known_line(folder: Path) -> None:
    conclusion = concluded(folder, file=str(folder / RUN / "plan.json"))
    assert (conclusion.document or {})["diagnoses"] == []
    assert len(conclusion.lines) == 1


def test_a_file_and_a_run_are_one_too_many(folder: Path) -> None:
    with pytest.raises(UserError, match="expected one of them"):
        concluded(folder, RUN, file="x")


@pytest.mark.parametrize(
    ("cause", "names"),
    [
        ({"node": "n0", "rank": 0, "message": None}, ["permission_denied", "cuda_out_of_memory"]),
        ({"node": "n1", "rank": 3, "message": None}, ["cuda_out_of_memory", "permission_denied"]),
        ({"node": "n1", "rank": 2, "message": OOM}, ["cuda_out_of_memory", "permission_denied"]),
        ({"node": "n1", "rank": 2, "message": "x", "traceback": [OOM]}, ["cuda_out_of_memory", "permission_denied"]),
        ({"node": "n2", "rank": None, "message": "x"}, ["permission_denied", "cuda_out_of_memory"]),
        ({"node": "n1", "rank": None}, ["cuda_out_of_memory", "permission_denied"]),
        ({"node": [], "rank": "x", "message": 1, "traceback": [2]}, ["permission_denied", "cuda_out_of_memory"]),
        (None, ["permission_denied", "cuda_out_of_memory"]),
    ],
)
def test_the_cause_of_the_run_comes_first(folder: Path, cause: Any, names: list[str]) -> None:
    for name in ("rank_10.previous.log", "rank_03.log"):
        (folder / RUN / "ranks" / name).unlink()
    logs = {"ranks/rank_00.log": f"2026-11-20T14:30:01.000Z {SURVIVED}\n", "ranks/rank_03.log": f"{LATE} {OOM}\n"}
    if cause and cause.get("rank") is None:
        logs = {**logs, "ranks/rank_03.log": "", "nodes/1/node.log": f"{LATE} {OOM}\n"}
    for name, content in logs.items():
        (folder / RUN / name).write_text(content, encoding="utf-8")
    write_run(folder, RUN, 8, 2.0, created="2026-11-20T14:30:52Z", verdict="failed", why="x", cause=cause)
    (folder / RUN / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    document = concluded(folder).document or {}
    assert [one["name"] for one in document["diagnoses"] if one["kind"] == "cause"] == names


def test_a_run_that_succeeded_has_no_causes(folder: Path) -> None:
    def titles(verdict: str) -> set[str]:
        write_run(folder, RUN, 8, 2.0, created="2026-11-20T14:30:52Z", verdict=verdict)
        return set(texts(concluded(folder))) & {*text.TITLES.values(), *text.SURVIVED.values()}

    assert titles("failed") == {text.TITLES[CAUSE], text.TITLES[CONSEQUENCE]}
    assert titles("succeeded") == {text.SURVIVED[CAUSE]} == {text.SURVIVED[CONSEQUENCE]}


@pytest.mark.parametrize("name", ["", "missing.log"])
def test_a_file_that_cannot_be_read(folder: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"^file: "):
        concluded(folder, file=str(folder / name))


def test_a_log_that_cannot_be_read_is_an_error_beside_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refuse(path: Path, *mode: Any, **options: Any) -> Any:
        if path.name == "rank_03.log":
            raise PermissionError(13, "Permission denied")
        return opened(path, *mode, **options)

    monkeypatch.setattr(Path, "open", refuse)
    document = concluded(folder).document or {}
    (error,) = document["errors"]
    assert (document["logs"], error["node"], error["check"], error["observed"]) == (4, "n1", "log", "Permission denied")


def test_the_logs_of_an_imported_run_are_where_the_scripts_left_them(tmp_path: Path) -> None:
    write_run(tmp_path, OLDER, 8, 2.0, imported_from="/home/ann/old")
    (tmp_path / OLDER / "logs").mkdir()
    for name in ("node_0_20251219_140716.txt", "other.txt"):
        (tmp_path / OLDER / "logs" / name).write_text(f"{OOM}\n")
    document = concluded(tmp_path, OLDER).document or {}
    [diagnosis] = document["diagnoses"]
    assert [place["file"] for place in diagnosis["places"]] == ["logs/node_0_20251219_140716.txt"]
