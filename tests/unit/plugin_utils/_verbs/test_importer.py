# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `import`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action.files import make_link
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents, experiment
from ansible_collections.muster.train.plugins.plugin_utils._results.notes import Note, with_note
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import summarize
from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.plugins.plugin_utils._verbs import importer as verb
from ansible_collections.muster.train.tests.support import aorta
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.verbs import play_of


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this machine be two hours east of Greenwich."""
    monkeypatch.setenv("TZ", "<east>-02:00")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def import_all(source: Path, folder: Path) -> dict[str, Any]:
    """Import, and write as the action that carries the step does; return the document."""
    play = play_of("import", {}, {"source": str(source)}, experiments=str(folder))
    conclusion = verb.import_all.conclusion(play)
    for file in conclusion.files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text)
    for link in conclusion.links:
        make_link(link.path, link.target, link.is_newest)
    document = documents.document("import", None, None, conclusion.document or {})
    assert schemas.errors(document) == []
    return document


def imported_lines(root: Path) -> list[str]:
    """Return what is printed of an import of two runs, a sweep and another directory."""
    for name in (aorta.RUN_ID, "multinode_42ch_512th_20251101_101010"):
        aorta.write_run(root / "old", name)
    aorta.write_sweep(root / "old")
    (root / "old" / "notes").mkdir()
    play = play_of("import", {}, {"source": str(root / "old")}, experiments=str(root / "new"))
    return list(verb.import_all.conclusion(play).closing_lines)


def test_a_run_has_its_settings_its_end_and_its_notes(tmp_path: Path) -> None:
    source, folder = tmp_path / "old", tmp_path / "new"
    home = aorta.write_run(source)
    document = import_all(source, folder)
    assert (document["experiments"], document["sweeps"], document["skipped"]) == ([aorta.RUN_ID], [], [])
    run = experiment.load((folder / aorta.RUN_ID / "run.yml").read_text())
    values = {name: setting["value"] for name, setting in run["parameters"].items()}
    environment = {"AMD_OCL_WAIT_COMMAND": "1"}
    assert values == {"channels": 28, "threads": 256, "nproc": 8, "config": "config/two.yaml", "env": environment}
    assert run["code"] == {"commit": aorta.COMMIT, "branch": "fused", "dirty": True}
    assert (run["verdict"], run["why"], run["elapsed_s"]) == ("succeeded", None, 95.0)
    assert (run["exit_codes"], run["nodes"], run["world_size"]) == ({"gpu0": 0, "gpu1": 0}, ["gpu0", "gpu1"], 16)
    assert (run["loss"], run["progress"]) == ({"first": 2.5, "last": 1.25}, {"step": 2})
    assert (run["created"], run["label"]) == ("2025-12-19T12:07:15Z", "fused")
    assert run["notes"] == [{"at": "2025-12-19T13:01:02Z", "by": "", "text": aorta.NOTE[1]}]
    assert (run["command"], run["imported_from"]) == ("./master_launch.sh -c 28 -l fused", str(home))
    assert (folder / aorta.RUN_ID / "outputs" / "rank_00_metrics.jsonl").is_file()
    assert (folder / aorta.RUN_ID / "logs" / "node_0_20251219_140716.txt").is_file()
    assert summarize(aorta.RUN_ID, (folder / aorta.RUN_ID / "run.yml").read_text()).problem == ""


@pytest.mark.parametrize(
    ("ends", "verdict", "why"),
    [
        ((aorta.SUCCESS, aorta.FAILURE), "failed", "gpu1: exit code 7"),
        (("=== Caught interrupt signal ===", aorta.FAILURE), "failed", "gpu1: exit code 7"),
        (("=== Caught interrupt signal ===", aorta.SUCCESS), "stopped", "gpu0: interrupted"),
        ((aorta.SUCCESS, "step 2"), "lost", "gpu1: its log has no end"),
        ((), "lost", "no log of a node"),
    ],
)
def test_how_a_run_ended(tmp_path: Path, ends: tuple[str, ...], verdict: str, why: str) -> None:
    aorta.write_run(tmp_path / "old", ends=ends, losses=())
    import_all(tmp_path / "old", tmp_path / "new")
    run = experiment.load((tmp_path / "new" / aorta.RUN_ID / "run.yml").read_text())
    assert (run["verdict"], run["why"], run["loss"]) == (verdict, why, None)


def test_what_the_node_wrote_is_read_where_the_copy_of_the_master_is_cut(tmp_path: Path) -> None:
    home = aorta.write_run(tmp_path / "old", ends=("step 2",))
    (home / "256thread_28channels" / "node_0_output.log").write_text(aorta.node_log(0, aorta.SUCCESS))
    import_all(tmp_path / "old", tmp_path / "new")
    run = experiment.load((tmp_path / "new" / aorta.RUN_ID / "run.yml").read_text())
    assert (run["verdict"], run["nodes"], run["elapsed_s"]) == ("succeeded", ["gpu0"], 95.0)


def test_a_note_changes_no_setting_and_keeps_its_lines(tmp_path: Path) -> None:
    home = aorta.write_run(tmp_path / "old")
    note = "Status: clean now\nConfig file: b.yaml"
    (home / "experiment_info.txt").write_text(aorta.info([("2025-12-19 15:01:02", note), aorta.NOTE]))
    import_all(tmp_path / "old", tmp_path / "new")
    run = experiment.load((tmp_path / "new" / aorta.RUN_ID / "run.yml").read_text())
    assert (run["code"]["dirty"], run["parameters"]["config"]["value"]) == (True, "config/two.yaml")
    assert [item["text"] for item in run["notes"]] == ["Status: clean now Config file: b.yaml", aorta.NOTE[1]]


def test_older_scripts_left_no_info(tmp_path: Path) -> None:
    home = aorta.write_run(tmp_path / "old", "multinode_42ch_512th_20251101_101010")
    (home / "experiment_info.txt").unlink()
    import_all(tmp_path / "old", tmp_path / "new")
    run = experiment.load((tmp_path / "new" / home.name / "run.yml").read_text())
    values = {name: setting["value"] for name, setting in run["parameters"].items()}
    assert values == {"channels": 42, "threads": 512, "nproc": 8, "config": "config/two.yaml"}
    assert (run["code"], run["command"], run["notes"]) == (None, None, [])


def test_the_same_command_again_keeps_what_was_added_here_and_brings_what_is_new_there(tmp_path: Path) -> None:
    source, folder = tmp_path / "old", tmp_path / "new"
    home = aorta.write_run(source, ends=(aorta.SUCCESS, "step 2"))
    import_all(source, folder)
    path = folder / aorta.RUN_ID / "run.yml"
    noted = with_note(experiment.load(path.read_text()), Note("2026-01-01T00:00:00Z", "ada", "good"))
    path.write_text(experiment.dump({**noted, "mine": 3}))
    (home / "logs" / "node_1_20251219_140716.txt").write_text(aorta.node_log(1, aorta.SUCCESS))
    (home / "experiment_info.txt").write_text(aorta.info([aorta.NOTE, ("2025-12-20 00:00:00", "again")]))
    import_all(source, folder)
    run = experiment.load(path.read_text())
    assert [note["text"] for note in run["notes"]] == [aorta.NOTE[1], "again", "good"]
    assert (run["verdict"], run["why"], run["mine"]) == ("succeeded", None, 3)
    before = path.read_text()
    import_all(source, folder)
    assert path.read_text() == before


def test_the_old_directory_may_be_the_new_one(tmp_path: Path) -> None:
    aorta.write_run(tmp_path)
    import_all(tmp_path, tmp_path)
    assert (tmp_path / aorta.RUN_ID / "run.yml").is_file()
    assert not (tmp_path / aorta.RUN_ID / "logs").is_symlink()
    assert import_all(tmp_path, tmp_path)["experiments"] == [aorta.RUN_ID]


def test_what_is_not_of_the_scripts_is_skipped_and_a_run_of_muster_stays(tmp_path: Path) -> None:
    source, folder = tmp_path / "old", tmp_path / "new"
    aorta.write_run(source)
    for name in ("notes", "sweep_of_mine/256thread/nccl_28channels"):
        (source / name).mkdir(parents=True)
    (folder / aorta.RUN_ID).mkdir(parents=True)
    (folder / aorta.RUN_ID / "run.yml").write_text("run_id: mine\n")
    document = import_all(source, folder)
    assert [item["name"] for item in document["skipped"]] == [aorta.RUN_ID, "notes", "sweep_of_mine"]
    assert (document["experiments"], document["sweeps"]) == ([], [])
    assert (folder / aorta.RUN_ID / "run.yml").read_text() == "run_id: mine\n"


def test_a_sweep_becomes_a_sweep_with_its_runs(tmp_path: Path) -> None:
    source, folder = tmp_path / "old", tmp_path / "new"
    aorta.write_sweep(source)
    document = import_all(source, folder)
    assert (document["experiments"], document["sweeps"]) == ([], [aorta.SWEEP])
    sweep = record.load((folder / aorta.SWEEP / "sweep.yml").read_text())
    assert (sweep.axes, sweep.created) == ({"channels": [28, 42], "threads": [256, 512]}, "2025-11-20T07:00:00Z")
    assert [(point.parameters["threads"], point.parameters["channels"]) for point in sweep.points] == [
        *((256, 28), (256, 42), (512, 28), (512, 42))
    ]
    assert [point.outcome for point in sweep.points] == ["succeeded", "succeeded", "failed", "lost"]
    assert [point.value for point in sweep.points] == [256 / 28, 256 / 42, None, None]
    first = sweep.points[0].run_id or ""
    run = experiment.load((folder / aorta.SWEEP / first / "run.yml").read_text())
    values = {name: setting["value"] for name, setting in run["parameters"].items()}
    assert values == {"channels": 28, "threads": 256, "nproc": 8, "config": "config/one.yaml"}
    assert (run["elapsed_s"], run["run_id"]) == (12.0, first)
    assert (folder / aorta.SWEEP / first / "outputs" / "rank_00_metrics.jsonl").is_file()


def test_a_sweep_of_another_name_has_the_time_of_its_log(tmp_path: Path) -> None:
    aorta.write_sweep(tmp_path / "old").rename(tmp_path / "old" / "channels")
    assert import_all(tmp_path / "old", tmp_path / "new")["sweeps"] == ["channels"]
    sweep = record.load((tmp_path / "new" / "channels" / "sweep.yml").read_text())
    assert sweep.created == "2025-11-20T07:00:00Z"


def test_a_source_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}/none"):
        import_all(tmp_path / "none", tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "\x00\ud800", "- NCCL Channels: " + "9" * 5000, "[9999-99-99 99:99:99] x", "World Size: \u0665\nNode IP: \n"],
)
def test_damaged_files_say_less(tmp_path: Path, text: str) -> None:
    home = aorta.write_run(tmp_path / "old", ends=("step 1",))
    damaged = text.encode(errors="surrogatepass")
    for path in (home / "experiment_info.txt", *home.glob("logs/*"), *home.glob("*/rank_00_metrics.jsonl")):
        path.write_bytes(damaged)
    (home / "256thread_28channels" / "rank_00_metrics.jsonl").write_bytes(
        b'{"loss": 1e999, "global_step": 1e999}\n[1\n7\n{"loss": %d}' % 10**400
    )
    document = import_all(tmp_path / "old", tmp_path / "new")
    assert document["experiments"] == [aorta.RUN_ID]
    run = experiment.load((tmp_path / "new" / aorta.RUN_ID / "run.yml").read_text())
    assert (run["verdict"], run["progress"], run["world_size"]) == ("lost", None, None)
