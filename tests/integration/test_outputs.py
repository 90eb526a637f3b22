# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a run's outputs go: a program has the directory by argument, and what is too much stays on the node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import Played


def write(cluster: Cluster, *arguments: str, **more: Any) -> Played:
    """Launch the writer with these arguments, and follow it."""
    return cluster.launch(follow=True, script="writer.py", script_args=["--out", "{output_dir}", *arguments], **more)


def given(cluster: Cluster, rank: int) -> dict[str, Any]:
    return dict(json.loads((cluster.experiments / RUN_ID / "outputs" / f"rank_{rank:02d}_given.json").read_text()))


def test_a_program_has_the_directories_of_its_node_by_argument(cluster: Cluster) -> None:
    braces = ["{{step}}", '{"a": {"b": 1}}', "${x}"]
    played = write(cluster, "{node_rank}", "{run_dir}/x", *braces, env={"TEST_NAME": "{run_id}-{node_rank}"})
    assert played.rc == 0, played.out
    for rank, node in enumerate(("node0", "node1")):
        run_dir = cluster.run_dir(node)
        assert given(cluster, rank) == {
            "rest": [str(rank), f"{run_dir}/x", "{step}", *braces[1:]],
            "variables": {"TEST_NAME": f"{RUN_ID}-{rank}"},
        }


def test_an_unknown_placeholder_is_refused_before_anything_starts(cluster: Cluster) -> None:
    played = write(cluster, "{epoch}", "{lr}")
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith("script_args: {epoch} in '{epoch}' is not a placeholder; expected one of {run_dir}, ")
    assert not (cluster.home / "work").exists()


@pytest.mark.gate
def test_what_is_excluded_or_too_large_stays_on_the_node_and_the_report_says_so(cluster: Cluster) -> None:
    cluster.policy["launch_collect_limit_mib"] = 2
    cluster.write()
    sizes = {"checkpoint-7/model.safetensors": 3 << 20, "checkpoint-7/state.json": 1 << 20, "last.ckpt": 512}
    played = write(cluster, *(word for name, size in sizes.items() for word in ("--file", name, str(size))))
    assert played.rc == 0, played.out
    for node in ("node0", "node1"):
        assert f"  {node}: 3 output files (4.0 MiB) stay on the node (launch_collect_exclude)" in played.out
    collected = {path.name for path in (cluster.experiments / RUN_ID / "outputs").rglob("*") if path.is_file()}
    assert collected == {"rank_00_given.json", "rank_01_given.json"}
    assert (cluster.run_dir("node1") / "outputs" / "last.ckpt").exists()

    played = cluster.verb("collect", launch_collect_exclude=["*.safetensors"], launch_collect_limit_mib=1)
    assert played.rc == 0, played.out
    large = "1 output file (1.0 MiB) stays on the node (launch_collect_limit_mib)"
    for line in (
        "  node0: 1 output file (3.0 MiB) stays on the node (launch_collect_exclude)\n",
        f"  node0: {large}: outputs/checkpoint-7/state.json (1.0 MiB)\n",
    ):
        assert line in played.out
    assert (cluster.experiments / RUN_ID / "outputs" / "node_1" / "last.ckpt").stat().st_size == 512


def test_a_directory_that_all_nodes_share_is_collected_once(cluster: Cluster) -> None:
    shared = cluster.home / "shared"
    shared.mkdir()
    cluster.policy["launch_shared_output_dir"] = str(shared)
    cluster.write()
    played = write(cluster, "{node_rank}", "--file", "sub/{node_rank}", "7", "--file", "last.pt", "3")
    assert played.rc == 0, played.out
    outputs = cluster.experiments / RUN_ID / "outputs"
    collected = {str(path.relative_to(outputs)): path.stat().st_size for path in outputs.rglob("*") if path.is_file()}
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
    for node, rank in (("node0", 0), ("node1", 1)):
        beat = json.loads((cluster.run_dir(node) / "heartbeat.json").read_text())
        last = (outputs / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()[-1]
        assert beat["progress"]["loss"] == json.loads(last)["loss"], "each node reads its own ranks"
    assert (shared / RUN_ID / "last.pt").exists(), "the run goes on where it was"


def test_a_shared_directory_that_is_not_there_is_refused_before_anything_starts(cluster: Cluster) -> None:
    played = write(cluster, launch_shared_output_dir=str(cluster.home / "absent"))
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith(
        f"node0 and node1: outputs: {cluster.home}/absent does not exist; expected a directory that "
    )
    assert not (cluster.home / "work").exists()
