# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `report` on two sweeps, and on runs of the list, launched and imported ones together."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.axes import combinations
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep, dump
from ansible_collections.muster.train.tests.support import aorta
from ansible_collections.muster.train.tests.support.sweep_parts import earlier_sweep, sweep
from ansible_collections.muster.train.tests.support.verbs import texts
from ansible_collections.muster.train.tests.unit.plugin_utils._report.test_sweep_page import maps
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs import test_report_files
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs.test_importer import import_all
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs.test_report_files import conclude, report

swept = test_report_files.swept
EARLIER = earlier_sweep().sweep_id
BOTH = {"sweep": sweep().sweep_id, "against": EARLIER}


def write_sweep(folder: Path, whole: Sweep) -> None:
    """Write a sweep without the records of its runs: what it says itself counts."""
    (folder / whole.sweep_id).mkdir(parents=True)
    (folder / whole.sweep_id / "sweep.yml").write_text(dump(whole))


def write_run(folder: Path, run_id: str, created: str, loss: float, **given: Any) -> None:
    """Write the record of a run that has succeeded."""
    parameters = {name: {"value": value, "origin": "-e", "layer": "extra_vars"} for name, value in given.items()}
    known = {"verdict": "succeeded", "created": created, "loss": {"last": loss}, "options": ["-i", "lab"]}
    (folder / run_id).mkdir()
    (folder / run_id / "run.yml").write_text(yaml.safe_dump({**known, "parameters": parameters}))


def report_others(folder: Path) -> object:
    """Compare sweeps over other parameters."""
    for whole in (sweep(), earlier_sweep(axes={"channels": [28]})):
        write_sweep(folder, whole)
    return conclude(folder, **BOTH)


def lines_of_selection(folder: Path) -> list[str]:
    """Return what is printed of three runs, one of which lacks a value."""
    write_run(folder, "new_1", "2026-11-20T14:30:00Z", 2.0, channels=28, threads=512)
    write_run(folder, "new_2", "2026-11-20T14:31:00Z", 1.5, channels=42, threads=512)
    write_run(folder, "new_3", "2026-11-20T14:32:00Z", 1.0, channels=42)
    return texts(conclude(folder, over=["channels", "threads"]))


def compare_by_a_misspelling(folder: Path) -> object:
    """Compare runs of the list by a number that none of them has."""
    return conclude(folder, over=["channels"], objective="-lss")


def test_the_difference_of_two_sweeps_has_files_of_its_own(swept: Path) -> None:
    write_sweep(swept, earlier_sweep())
    document, files = report(swept, **BOTH)
    assert [*files] == [f"report_against_{EARLIER}.{ending}" for ending in ("csv", "json", "html")]
    assert all(file.path.parent == swept / BOTH["sweep"] and file.former is None for file in files.values())
    assert (document["sweep_id"], document["against"]) == (*BOTH.values(),)
    assert document["differences"][0]["runs"]["mean"] == 1.8, "the record of the first run says 1 since"
    assert [known["effect"] for known in document["differences"]].count("absent") == 1


def write_speed(folder: Path, whole: Sweep, speed: float) -> None:
    """Write what is known of the speed of a sweep's first run."""
    home = folder / whole.sweep_id / str(whole.points[0].run_id)
    home.mkdir(exist_ok=True)
    (home / "run.yml").write_text(yaml.safe_dump({"verdict": "succeeded", "progress": {"tokens_per_s": speed}}))


def means(document: dict[str, Any]) -> list[tuple[float | None, float | None]]:
    """Return the means of the combinations that are in both sweeps."""
    both = [known for known in document["differences"] if known["runs"] and known["other"]]
    return [(known["runs"]["mean"], known["other"]["mean"]) for known in both]


def test_the_difference_is_that_of_any_number(swept: Path) -> None:
    write_sweep(swept, earlier_sweep())
    write_speed(swept, sweep(), 900.0)
    write_speed(swept, earlier_sweep(), 1000.0)
    document, _files = report(swept, **BOTH, objective="-tokens_per_s")
    first, *others = means(document)
    assert (document["objective"], first) == ("-tokens_per_s", (900.0, 1000.0))
    assert {*others} == {(None, None)}, "what sweep.yml has of the other runs is their loss"
    assert [known["effect"] for known in document["differences"]][:2] == ["worse", "unknown"]


def test_the_same_number_may_be_best_where_it_is_largest(swept: Path) -> None:
    write_sweep(swept, earlier_sweep())
    assert means(report(swept, **BOTH, objective="-loss")[0]) == means(report(swept, **BOTH)[0])


def test_a_number_that_no_run_has_is_refused(swept: Path) -> None:
    write_sweep(swept, earlier_sweep())
    for chosen in (BOTH, {"sweep": BOTH["sweep"]}):
        with pytest.raises(UserError, match=r"^objective: .*'elapsd_s'.*'elapsed_s'"):
            conclude(swept, **chosen, objective="-elapsd_s")


def test_what_cannot_be_compared_is_refused(swept: Path) -> None:
    with pytest.raises(UserError, match=f"^against: no sweep {EARLIER}"):
        conclude(swept, **BOTH)
    with pytest.raises(UserError, match=r"^against: .*env\.NCCL_PROTO"):
        report_others(swept / "others")


def test_an_imported_sweep_is_compared_with_a_new_one(tmp_path: Path) -> None:
    aorta.write_sweep(tmp_path / "old")
    import_all(tmp_path / "old", tmp_path)
    axes: dict[str, Any] = {"channels": [28, 42], "threads": [256, 512]}
    points = [
        Point(number, 1, values, str(number), "succeeded", f"run_{number}", None, 10.0, 5.0)
        for number, values in enumerate(combinations(axes), start=1)
    ]
    write_sweep(tmp_path, sweep(axes=axes, points=points))
    document, files = report(tmp_path, sweep=sweep().sweep_id, against=aorta.SWEEP)
    effects = {tuple(known["parameters"].values()): known["effect"] for known in document["differences"]}
    assert effects == {(28, 256): "better", (28, 512): "unknown", (42, 256): "better", (42, 512): "unknown"}
    [heat_map] = maps(next(file.text for name, file in files.items() if name.endswith(".html")))
    assert heat_map.count("failed") == 1


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """An imported run, with 28 channels and 256 threads, and three that were launched; one of them has no threads."""
    aorta.write_run(tmp_path / "old")
    import_all(tmp_path / "old", tmp_path)
    assert lines_of_selection(tmp_path)
    return tmp_path


def test_old_and_new_runs_are_one_heat_map(listed: Path) -> None:
    document, files = report(listed, over=["channels", "threads"])
    assert [*files] == [f"report_over_channels_threads.{ending}" for ending in ("csv", "json", "html")]
    assert all(file.path.parent == listed for file in files.values())
    assert (document["sweep_id"], document["over"], document["left_out"]) == (None, ["channels", "threads"], ["new_3"])
    assert [(point["run_id"], point["value"]) for point in document["points"]] == [
        (aorta.RUN_ID, 1.25),
        ("new_1", 2.0),
        ("new_2", 1.5),
    ]
    page = files["report_over_channels_threads.html"].text
    heat_map, _dots = maps(page)
    assert {"channels", "threads", "256", "512", "1.25", "2", "1.5"} <= {*heat_map}
    assert page.count("new_3") == 1, "it is named as left out"
    rows = list(csv.DictReader(files["report_over_channels_threads.csv"].text.splitlines()))
    assert [(row["channels"], row["threads"], row["loss"]) for row in rows] == [
        ("28", "256", "1.25"),
        ("28", "512", "2.0"),
        ("42", "512", "1.5"),
    ]


def test_runs_are_chosen_as_the_list_chooses_them(listed: Path) -> None:
    document, _files = report(listed, over=["channels"], where="threads=512", last=1, objective="-loss")
    assert [point["run_id"] for point in document["points"]] == ["new_2"]
    assert document["best"]["value"] == 1.5


def test_the_best_of_them_can_be_launched_again(listed: Path) -> None:
    document, files = report(listed, over=["channels"])
    assert document["best"]["parameters"] == {"channels": 42}
    launch = "ansible-playbook -i lab muster.train.launch -e &#39;{&#34;channels&#34;: 42, &#34;threads&#34;: 512}&#39;"
    assert launch in files["report_over_channels.html"].text


def test_a_value_that_a_user_added_may_be_a_date(listed: Path) -> None:
    for number in (1, 2):
        with (listed / f"new_{number}" / "run.yml").open("a") as stream:
            stream.write(f"day: 2026-11-0{number}\n")
    document, files = report(listed, over=["day"])
    assert [point["parameters"] for point in document["points"]] == [{"day": "2026-11-01"}, {"day": "2026-11-02"}]
    assert json.loads(files["report_over_day.json"].text)["points"] == document["points"]


def test_nothing_to_compare_is_refused(listed: Path) -> None:
    with pytest.raises(UserError, match=r"^over: no run"):
        conclude(listed, over=["channels"], where="channels=99")
    with pytest.raises(UserError, match=r"chanels.*channels"):
        conclude(listed, over=["chanels"])
    with pytest.raises(UserError, match=r"^objective: .*'lss'.*'loss'"):
        compare_by_a_misspelling(listed)
