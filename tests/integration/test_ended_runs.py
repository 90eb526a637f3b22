# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves that has ended: its outputs, its ranks, its cause, and the command for its end."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import Played

NODES = ["node0", "node1"]
WRITTEN, FAILED = f"{RUN_ID}_written", f"{RUN_ID}_failed"
BRACES = ["{{step}}", '{"a": {"b": 1}}', "${x}"]
SIZES = {"checkpoint-7/model.safetensors": 3 << 20, "checkpoint-7/state.json": 1 << 20, "last.ckpt": 512}
PROGRAM = {"launcher": "exec", "script": "spawning.py", "nproc": 2, "follow": True}
SAVES = """
import json, os, sys
environment = {name: value for name, value in os.environ.items() if name.startswith("MUSTER_")}
json.dump({"environment": environment, "verdict": json.load(sys.stdin)}, open(sys.argv[1], "w"))
raise SystemExit(4)
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster of all runs that have the same policy, each with a run ID of its own."""
    cluster = Cluster(tmp_path_factory.mktemp("ended"))
    yield cluster
    cluster.destroy()


@pytest.fixture(scope="module")
def written(nodes: Cluster) -> Played:
    """A run that has succeeded: it writes what it was given, and files; the command for its end fails."""
    script = nodes.home / "save it.py"
    script.write_text(SAVES)
    files = [word for name, size in SIZES.items() for word in ("--file", name, str(size))]
    played = write(
        nodes,
        *("{node_rank}", "{run_dir}/x", *BRACES, *files),
        run_id=WRITTEN,
        launcher="torchrun",
        env={"TEST_NAME": "{run_id}-{node_rank}"},
        on_end=shlex.join([sys.executable, str(script), str(nodes.home / "written.json")]),
        launch_collect_limit_mib=2,
    )
    assert played.rc == 0, played.out
    return played


@pytest.fixture(scope="module")
def failed(nodes: Cluster) -> Played:
    """A run that has failed: a rank that its program has started raises."""
    on_end = shlex.join(["cp", "/dev/stdin", str(nodes.home / "failed.json")])
    return nodes.launch(**PROGRAM, run_id=FAILED, script_args=["--fail-rank", "3"], on_end=on_end)


def write(cluster: Cluster, *arguments: str, **more: Any) -> Played:
    """Launch the writer with these arguments, and follow it."""
    return cluster.launch(follow=True, script="writer.py", script_args=["--out", "{output_dir}", *arguments], **more)


def outputs_of(cluster: Cluster, run_id: str = RUN_ID) -> Path:
    return cluster.experiments / run_id / "outputs"


def given(cluster: Cluster, rank: int, run_id: str = RUN_ID) -> dict[str, Any]:
    return dict(json.loads((outputs_of(cluster, run_id) / f"rank_{rank:02d}_given.json").read_text()))


def files_below(folder: Path) -> dict[str, int]:
    """Return the size of each file."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def assert_cause(cluster: Cluster, run_id: str, *expected: object) -> None:
    """Check the node, the rank and the exit code that a run has failed by."""
    record = cluster.record(run_id)
    cause = record["cause"]
    assert (record["verdict"], cause["node"], cause["rank"], cause["exit_code"]) == ("failed", *expected)


def test_a_program_has_the_directories_of_its_node_by_argument(nodes: Cluster, written: Played) -> None:
    for rank, node in enumerate(NODES):
        assert given(nodes, rank, WRITTEN) == {
            "rest": [str(rank), f"{nodes.run_dir(node, WRITTEN)}/x", "{step}", *BRACES[1:]],
            "variables": {"TEST_NAME": f"{WRITTEN}-{rank}"},
        }


def test_ranks_that_never_meet_are_reported(nodes: Cluster, written: Played) -> None:
    record = nodes.record(WRITTEN)
    assert record["verdict"] == "succeeded"
    assert record["why"].startswith("succeeded, but no rank joined a process group, so each worked alone")
    assert record["why"] in written.out


def test_a_command_gets_the_verdict_and_does_not_change_it(nodes: Cluster, written: Played) -> None:
    saved = json.loads((nodes.home / "written.json").read_text())
    assert saved["verdict"]["verdict"] == "succeeded"
    assert saved["environment"] == {
        "MUSTER_RUN_ID": WRITTEN,
        "MUSTER_VERDICT": "succeeded",
        "MUSTER_EXPERIMENT": str(nodes.experiments / WRITTEN),
    }
    assert f"{WRITTEN}  succeeded" in written.out


@pytest.mark.gate
def test_what_is_excluded_or_too_large_stays_on_the_node_and_the_report_says_so(
    nodes: Cluster, written: Played
) -> None:
    for node in NODES:
        assert f"  {node}: 3 output files (4.0 MiB) stay on the node (launch_collect_exclude)" in written.out
    assert files_below(outputs_of(nodes, WRITTEN)).keys() == {"rank_00_given.json", "rank_01_given.json"}
    assert (nodes.run_dir("node1", WRITTEN) / "outputs" / "last.ckpt").exists()

    limits = {"launch_collect_exclude": ["*.safetensors"], "launch_collect_limit_mib": 1}
    played = nodes.verb("collect", run_id=WRITTEN, **limits)
    assert played.rc == 0, played.out
    large = "1 output file (1.0 MiB) stays on the node (launch_collect_limit_mib)"
    for line in (
        "  node0: 1 output file (3.0 MiB) stays on the node (launch_collect_exclude)\n",
        f"  node0: {large}: outputs/checkpoint-7/state.json (1.0 MiB)\n",
    ):
        assert line in played.out
    assert files_below(outputs_of(nodes, WRITTEN))["node_1/last.ckpt"] == 512


def test_a_directory_that_all_nodes_share_is_collected_once(cluster: Cluster) -> None:
    shared = cluster.home / "shared"
    shared.mkdir()
    cluster.policy["launch_shared_output_dir"] = str(shared)
    cluster.write()
    played = write(cluster, "{node_rank}", "--file", "sub/{node_rank}", "7", "--file", "last.pt", "3")
    assert played.rc == 0, played.out
    outputs = outputs_of(cluster)
    collected = files_below(outputs)
    assert collected.keys() == {"rank_00_given.json", "rank_01_given.json", "sub/0", "sub/1"}
    assert collected["sub/1"] == 7
    assert given(cluster, 1)["rest"] == ["1"]
    assert sorted(path.name for path in (shared / RUN_ID).iterdir()) == sorted(
        ["last.pt", "rank_00_given.json", "rank_01_given.json", "sub"]
    )
    assert played.out.count("1 output file (3 bytes) stays on the node (launch_collect_exclude)") == 1
    again = cluster.verb("collect")
    assert (again.rc, again.changed) == (0, {"localhost": 0, "node0": 0, "node1": 0}), again.out

    later = cluster.launch(follow=True, script="sleeper.py", script_args=["--seconds", "1"])
    assert later.rc == 0, later.out
    assert (outputs / "rank_01_metrics.jsonl").exists()
    for rank, node in enumerate(NODES):
        beat = json.loads((cluster.run_dir(node) / "heartbeat.json").read_text())
        last = (outputs / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()[-1]
        assert beat["progress"]["loss"] == json.loads(last)["loss"], "each node reads its own ranks"
    assert (shared / RUN_ID / "last.pt").exists(), "the run goes on where it was"


def test_an_unknown_placeholder_is_refused_before_anything_starts(cluster: Cluster) -> None:
    played = write(cluster, "{epoch}", "{lr}")
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith("script_args: {epoch} in '{epoch}' is not a placeholder; expected one of {run_dir}, ")
    assert not (cluster.home / "work").exists()


def test_a_shared_directory_that_is_not_there_is_refused_before_anything_starts(cluster: Cluster) -> None:
    absent = cluster.home / "absent"
    played = write(cluster, launch_shared_output_dir=str(absent))
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith(f"node0 and node1: outputs: {absent} does not exist; expected a directory that ")
    assert not (cluster.home / "work").exists()


def test_an_address_in_a_secret_that_is_missing_is_refused_on_the_head(cluster: Cluster) -> None:
    refused = cluster.launch(on_end="secret:HOOK")
    assert refused.rc != 0
    missing = "node0: on_end: secret:HOOK names no web address; put one into launch_secrets under this name"
    assert missing in refused.words
    assert cluster.processes() == []


def test_the_ranks_that_a_program_starts_meet_and_are_counted(nodes: Cluster) -> None:
    run_id = f"{RUN_ID}_program"
    played = nodes.launch(**PROGRAM, run_id=run_id)
    assert played.rc == 0, played.out
    assert played.phases == {"node0": "succeeded", "node1": "succeeded"}
    assert f"{run_id}  succeeded · 4 ranks on 2 nodes" in played.out
    for rank in range(4):
        lines = (outputs_of(nodes, run_id) / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["total"] for line in lines] == [4.0, 4.0, 4.0]
    assert [nodes.state(node, run_id)["ranks"] for node in NODES] == [[0, 1], [2, 3]]
    assert nodes.record(run_id)["world_size"] == 4
    assert nodes.processes() == []


def test_ranks_are_counted_by_what_they_report_and_not_by_the_plan(nodes: Cluster) -> None:
    run_id = f"{RUN_ID}_counted"
    played = nodes.launch(**{**PROGRAM, "nproc": 1}, run_id=run_id, script_args=["--workers", "2"])
    assert played.rc == 0, played.out
    assert f"{run_id}  succeeded · 4 ranks on 2 nodes" in played.out
    assert nodes.record(run_id)["world_size"] == 4
    assert sorted(name for name in files_below(outputs_of(nodes, run_id)) if name.endswith("_metrics.jsonl")) == [
        "node_0/rank_01_metrics.jsonl",
        "node_1/rank_02_metrics.jsonl",
        "node_1/rank_03_metrics.jsonl",
        "rank_00_metrics.jsonl",
    ]


def test_a_rank_that_fails_is_named(nodes: Cluster, failed: Played) -> None:
    assert failed.rc == 2
    record = nodes.record(FAILED)
    expected = {"node": "node1", "rank": 3, "exception": "ValueError", "message": "the loss is not a number"}
    assert {name: record["cause"][name] for name in expected} == expected
    assert record["verdict"] == "failed"
    assert f"  {record['why']}\n" in failed.out
    assert nodes.processes(FAILED) == []


def test_the_command_of_a_run_that_failed_runs_after_the_verdict(nodes: Cluster, failed: Played) -> None:
    assert json.loads((nodes.home / "failed.json").read_text())["verdict"] == "failed"
    assert failed.out.index("Report the verdict]") < failed.out.index("Run the command for the end of a run]")


def test_a_rank_that_exits_early_is_the_cause(nodes: Cluster) -> None:
    run_id = f"{RUN_ID}_deserted"
    program = {"launcher": "torchrun", "script": "deserter.py", "nproc": 2, "script_args": ["--exits", "3"]}
    played = nodes.launch(**program, run_id=run_id, follow=True)
    assert played.rc == 2
    assert "  node1: rank 3 exited with code 0 while other ranks were waiting\n" in played.out
    assert_cause(nodes, run_id, "node1", 3, 0)


@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_a_rank_that_hangs_is_the_cause(launcher: str, nodes: Cluster) -> None:
    run_id = f"{RUN_ID}_hung_{launcher}"
    program = {"launcher": launcher, "script": "deserter.py", "script_args": ["--hangs", "1"]}
    played = nodes.launch(**program, run_id=run_id, follow=True)
    assert played.rc == 2
    why = "node1: rank 1 was still running when the other ranks had timed out waiting: it probably hangs"
    assert f"  {why}\n" in played.out
    assert_cause(nodes, run_id, "node1", 1, None)
