# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `report`: what it writes of a run and of a sweep."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import dump
from ansible_collections.muster.train.plugins.plugin_utils._verbs import report as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, WantedFile
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.report_parts import SLOW, STEPS, line, text_of, write_experiment
from ansible_collections.muster.train.tests.support.sweep_parts import sweep
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

OLD, NEW = "train_20261120_110000", "train_20261120_120000"


def report(folder: Path, run_id: str | None = None, **parameters: Any) -> tuple[dict[str, Any], dict[str, WantedFile]]:
    """Return the document, which its schema describes, and the files by their names."""
    conclusion = conclude(folder, run_id, **parameters)
    assert texts(conclusion)
    document = dict(conclusion.document or {})
    assert schemas.errors(documents.document("report", None, None, document)) == []
    return document, {file.path.name: file for file in conclusion.files}


def conclude(folder: Path, run_id: str | None = None, **parameters: Any) -> Conclusion:
    return verb.write.conclusion(
        play_of("report", {}, parameters, run_id=run_id, experiments=str(folder), options=["-i", "lab"])
    )


def test_a_run_is_a_page_a_table_and_a_document(tmp_path: Path) -> None:
    home = write_experiment(tmp_path)
    document, files = report(tmp_path, home.name)
    assert [*files] == ["report_telemetry.csv", "report.csv", "report.json", "report.html"]
    assert all(file.path.parent == home and file.is_private for file in files.values())
    assert (document["run_id"], document["verdict"], document["stragglers"]) == (home.name, "succeeded", [SLOW])
    assert [rank["node"] for rank in document["ranks"]] == ["node0", "node0", "node1", "node1"]
    kept = json.loads(files["report.json"].text)
    assert all(document[name] == value for name, value in kept.items() if name != "schema")
    rows = list(csv.DictReader(files["report.csv"].text.splitlines()))
    assert len(rows) == STEPS
    assert (rows[0]["step"], rows[0]["loss"], rows[0]["step_s_max"], rows[0]["tokens_per_s"]) == (
        "1",
        "4.9",
        "0.16",
        "1001",
    )


def test_a_run_has_its_telemetry_and_its_traces(tmp_path: Path) -> None:
    home = write_experiment(tmp_path, first_step="2026-11-20T14:31:02Z")
    document, files = report(tmp_path, home.name)
    assert document["times"]["first_step"] == "2026-11-20T14:31:02Z"
    telemetry = document["telemetry"]
    assert [(gpu["node"], gpu["index"]) for gpu in telemetry["gpus"]] == [
        (f"node{n}", g) for n in (0, 1) for g in range(4)
    ]
    assert [host["ports"]["eth0"] for host in telemetry["hosts"]] == [[8000, 2000]] * 2
    assert [(trace["rank"], trace["compute_s"], trace["problem"]) for trace in document["traces"]] == [
        (rank, 0.0006, None) for rank in range(4)
    ]
    rows = list(csv.DictReader(files["report_telemetry.csv"].text.splitlines()))
    assert [row["seconds"] for row in rows] == [str(10 * number) for number in range(9)]
    assert (rows[3]["gpu_clock_mhz"], rows[3]["gpu_clock_mhz_min"], rows[3]["host_cpu_percent"]) == (
        "1755",
        "1200",
        "12.5",
    )


def test_telemetry_and_traces_that_are_damaged_are_notes(tmp_path: Path) -> None:
    home = write_experiment(tmp_path)
    (home / "nodes" / "1" / "telemetry.jsonl").write_bytes(b"")
    (home / "nodes" / "0" / "telemetry.jsonl").write_bytes(b"{\n\0\n")
    for rank in range(4):
        (home / "outputs" / f"rank_{rank:02d}_trace.json").write_text("{" * rank)
    document, files = report(tmp_path, home.name)
    assert len(document["telemetry"]["notes"]) == 2
    assert [trace["problem"] for trace in document["traces"]] == ["empty", "foreign", "foreign", "foreign"]
    assert "report_telemetry.csv" not in files


def test_without_a_run_id_it_is_the_newest_run(tmp_path: Path) -> None:
    write_experiment(tmp_path, NEW, created="2026-11-20T12:00:00Z")
    write_experiment(tmp_path, OLD, created="2026-11-20T11:00:00Z")
    assert report(tmp_path)[0]["run_id"] == NEW


def test_a_second_report_changes_nothing(tmp_path: Path) -> None:
    write_experiment(tmp_path, NEW)
    _document, first = report(tmp_path, NEW)
    for file in first.values():
        file.path.write_text(file.text)
    _document, second = report(tmp_path, NEW)
    for name, file in second.items():
        assert file.is_same(first[name].text) if file.is_same else file.text == first[name].text


def test_damaged_metrics_are_remarks(tmp_path: Path) -> None:
    outputs = write_experiment(tmp_path, NEW, world_size=6) / "outputs"
    (outputs / "rank_00_metrics.jsonl").write_bytes(b"")
    (outputs / "rank_01_metrics.jsonl").write_bytes(b'{"step": 1, "loss": NaN}\n\xff\x00{{{\n{"step": 2, "lo')
    jumped = [line(2, step, step_ms=-5.0 if step == 7 else 100.0) for step in range(1, 20)]
    (outputs / "rank_02_metrics.jsonl").write_text(text_of(jumped))
    (outputs / "rank_03_metrics.jsonl").unlink()
    (outputs / "node_1").mkdir()
    (outputs / "node_1" / "rank_04_metrics.jsonl").write_text(text_of([line(4, 2), line(4, 1)]))
    (outputs / "rank_99999999_metrics.jsonl").mkdir()
    document, files = report(tmp_path, NEW)
    assert {remark["kind"]: (remark["ranks"], remark["count"]) for remark in document["remarks"]} == {
        "empty": ([0], 1),
        "not_finite": ([1], 1),
        "broken": ([1], 2),
        "clock": ([2], 1),
        "backwards": ([4], 1),
        "missing": ([3, 5], 2),
    }
    assert all(remark["text"] in files["report.html"].text for remark in document["remarks"])


def test_a_run_without_metrics_plan_and_states_has_a_page(tmp_path: Path) -> None:
    home = write_experiment(tmp_path, NEW)
    for path in [*home.glob("outputs/*"), *home.glob("nodes/*/*"), home / "plan.json"]:
        path.unlink()
    document, files = report(tmp_path, NEW)
    assert (document["curves"], document["ranks"], document["remarks"]) == ([], [], [])
    assert files["report.csv"].text == "step\n"


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write_experiment(tmp_path, OLD)
    with pytest.raises(UserError, match=OLD):
        conclude(tmp_path, "train_20261120_110001")


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A sweep as its records are: of the first run the loss has changed since, and one has no record."""
    whole = sweep()
    home = tmp_path / whole.sweep_id
    home.mkdir()
    (home / "sweep.yml").write_text(dump(whole))
    for point in whole.points:
        if point.run_id and point.value is not None and (point.number, point.repeat) != (1, 2):
            value = 1.0 if point.number == 1 else point.value
            given = {"value": point.parameters["channels"], "origin": "-e channels", "layer": "extra_vars"}
            unasked = {"value": "point1.1", "origin": "-e label", "layer": "extra_vars"}
            known = {"verdict": "succeeded", "elapsed_s": 40.0 + point.number, "loss": {"last": value}}
            (home / point.run_id).mkdir()
            options = ["-i", "lab", "-e", f"@/x/{point.label}.launch.json"]
            parameters = {"channels": given, "label": unasked}
            text = yaml.safe_dump({**known, "parameters": parameters, "options": options})
            (home / point.run_id / "run.yml").write_text(text)
    return tmp_path


def test_a_sweep_is_reported_from_its_records(swept: Path) -> None:
    whole = sweep()
    document, files = report(swept, sweep=whole.sweep_id)
    assert (document["sweep_id"], document.get("run_id"), document["objective"]) == (whole.sweep_id, None, "loss")
    assert files["report.html"].former == swept / whole.sweep_id / "sweep.html"
    assert [point["value"] for point in document["points"][:3]] == [1.0, 2.6, 3.0]
    assert document["best"]["parameters"] == whole.points[0].parameters
    launch = "ansible-playbook -i lab muster.train.launch -e &#39;{&#34;channels&#34;: 28}&#39;</code>"
    assert launch in files["report.html"].text, "without the file that names the run"
    rows = list(csv.DictReader(files["report.csv"].text.splitlines()))
    assert (len(rows), rows[0]["channels"], rows[0]["loss"], rows[-1]["outcome"]) == (12, "28", "1.0", "pending")


def test_a_sweep_can_be_compared_by_another_number(swept: Path) -> None:
    document, _files = report(swept, sweep=sweep().sweep_id, objective="-elapsed_s")
    assert (document["objective"], document["best"]["value"]) == ("-elapsed_s", 43.0)


def test_a_sweep_that_is_not_there_or_damaged_is_refused(swept: Path) -> None:
    with pytest.raises(UserError, match=sweep().sweep_id):
        conclude(swept, sweep="sweep_20261120_143053_nccl")
    (swept / sweep().sweep_id / "sweep.yml").write_text("a: [")
    with pytest.raises(UserError, match=r"sweep\.yml"):
        conclude(swept, sweep=sweep().sweep_id)
