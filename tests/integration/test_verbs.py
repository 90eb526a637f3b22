# SPDX-License-Identifier: GPL-3.0-or-later
"""status, logs, stop, collect, list and follow, each on the newest run and on one that is named."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import Played

OLD = "multinode_42ch_autoth_20261120_143052_first"
STRANGER = "multinode_1ch_64th_20200101_000000"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, str]]:
    """A cluster with a run of four ranks that has ended, OLD, and a newer one that goes on; the tests only look."""
    cluster = Cluster(tmp_path_factory.mktemp("verbs"))
    short = ["--seconds", "1"]
    parameters = {"label": "first", "channels": 42, "launcher": "torchrun", "nproc": 2, "script_args": short}
    old = cluster.launch(run_id=OLD, follow=True, **parameters)
    assert old.rc == 0, old.out
    new = cluster.verb("launch", follow=False, label="second", channels=2, script_args=["--seconds", "600"])
    match = re.search(r"^run (multinode_2ch_autoth_\d{8}_\d{6}_second_[0-9a-f]{4})$", new.out, re.MULTILINE)
    assert new.rc == 0 and match, new.out
    wait_for((cluster.run_dir("node1", match[1]) / "logs").exists, "the newer run says something")
    wait_for(lambda: " · loss " in summary(cluster.verb("status")), "the head knows how far the newer run is")
    yield cluster, match[1]
    cluster.destroy()


def summary(played: Played) -> str:
    """Return the line that sums up a run."""
    match = re.search(r"^multinode_\S+  .*$", played.out, re.MULTILINE)
    assert match, played.out
    return match[0]


def log_lines(played: Played) -> list[str]:
    assert played.rc == 0, played.out
    return [line for line in played.out.splitlines() if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ", line)]


@pytest.mark.gate
def test_status(runs: tuple[Cluster, str]) -> None:
    cluster, new = runs
    newest = cluster.verb("status")
    assert newest.rc == 0
    assert newest.phases == {"node0": "running", "node1": "running"}
    assert re.match(rf"{new}  running · 2 ranks on 2 nodes · loss 5 -> \S+ · ", summary(newest))
    assert f"muster.train.stop -e run_id={new}" in newest.out
    old = cluster.verb("status", run_id=OLD)
    assert old.rc == 0
    assert old.phases == {"node0": "succeeded", "node1": "succeeded"}
    assert re.match(rf"{OLD}  succeeded · 4 ranks on 2 nodes · loss 5 -> 0.5 · \d+ s$", summary(old))
    assert "muster.train.stop" not in old.out
    # Only the head was asked.
    assert {**newest.changed, **old.changed} == {"localhost": 0, "node0": 0}


@pytest.mark.gate
def test_a_run_that_no_node_knows(runs: tuple[Cluster, str]) -> None:
    cluster, new = runs
    alive = cluster.identities()
    played = cluster.verb("status", run_id=STRANGER)
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith(f"no run {STRANGER} on any node (searched node0:{cluster.home}/work/node0 and node1:")
    assert line.endswith(f"; the newest are: {new}, {OLD}")
    assert cluster.identities() == alive


def test_stop_of_a_run_that_no_node_knows_writes_nothing(runs: tuple[Cluster, str]) -> None:
    cluster, new = runs
    played = cluster.verb("stop", run_id=STRANGER)
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith(f"nothing to stop: no node knows {STRANGER} (searched node0:")
    assert line.endswith(f"; the newest are: {new}, {OLD}")
    assert not (cluster.experiments / STRANGER).exists()


def test_without_any_run(cluster: Cluster) -> None:
    played = cluster.verb("collect")
    assert played.rc == 2
    (line,) = played.messages
    assert line.startswith("no run on any node (searched ")
    assert line.endswith(f"to start one: ansible-playbook -i {cluster.inventory} muster.train.launch")
    assert not (cluster.home / "work").exists()
    assert not cluster.experiments.exists()


@pytest.mark.gate
def test_logs_are_merged_by_time_with_node_and_rank_in_front(runs: tuple[Cluster, str]) -> None:
    cluster, _new = runs
    lines = log_lines(cluster.verb("logs", run_id=OLD))
    parts = {line: re.fullmatch(r"(\S+ \S+) (node\d)/(rank\d|-) +\|(?: (.*))?", line) for line in lines}
    assert [line for line, match in parts.items() if not match] == []
    entries = [match.groups() for match in parts.values() if match]
    assert [line[0] for line in entries] == sorted(line[0] for line in entries)
    for rank in range(4):
        begins, ends = [
            text for _time, node, who, text in entries if (node, who) == (f"node{rank // 2}", f"rank{rank}")
        ]
        assert (begins, ends) == (f"rank {rank} of 4 begins", f"rank {rank} ends")
    last = log_lines(cluster.verb("logs", run_id=OLD, lines=3))
    # A column is as wide as what is shown: on a loaded machine torchrun's own warnings may come last.
    assert [line.split() for line in last] == [line.split() for line in lines[-3:]]


def test_logs_of_one_node_and_of_one_rank(runs: tuple[Cluster, str]) -> None:
    cluster, _new = runs
    of_node = log_lines(cluster.verb("logs", run_id=OLD, node="node1"))
    assert {re.split(r"[ /]+", line)[2] for line in of_node} == {"node1"}
    assert {"rank 2 ends", "rank 3 ends"} <= {line.partition("| ")[2] for line in of_node}
    of_rank = log_lines(cluster.verb("logs", run_id=OLD, rank=0, lines=2))
    assert [line.split(maxsplit=2)[2] for line in of_rank] == [
        f"node0/rank0 | rank 0 {what}" for what in ("of 4 begins", "ends")
    ]
    no_rank = cluster.verb("logs", run_id=OLD, rank=99)
    assert no_rank.rc == 2
    assert no_rank.messages == ["rank: expected 0 to 3, the ranks of this run, saw 99 (-e rank)"]
    nobody = cluster.verb("logs", node="node7")
    assert nobody.rc == 2
    assert nobody.messages == ["node: expected one of node0, node1, saw 'node7' (-e node)"]


def test_logs_of_an_active_run(runs: tuple[Cluster, str]) -> None:
    cluster, _new = runs
    texts = {line.partition("| ")[2] for line in log_lines(cluster.verb("logs"))}
    assert texts == {"rank 0 of 2 begins", "rank 1 of 2 begins"}


@pytest.mark.gate
def test_list(runs: tuple[Cluster, str], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, new = runs
    played = cluster.verb("list")
    assert played.rc == 0
    lines = [line for line in played.out.splitlines() if line.startswith("multinode_")]
    rows = {line.split()[0]: line.split() for line in lines}
    assert list(rows) == [OLD, new]
    assert max(map(len, lines)) <= 100
    assert {"succeeded", "0.5", "s"} <= set(rows[OLD])
    assert "running?" in rows[new]
    monkeypatch.setenv("COLUMNS", "160")
    (header,) = (line for line in cluster.verb("list").out.splitlines() if line.startswith("run id "))
    monkeypatch.delenv("COLUMNS")
    assert "script_args" in header.split()
    assert f"muster.train.collect -e run_id={new}" in played.out
    assert f"muster.train.collect -e run_id={OLD}" not in played.out
    few = cluster.verb("list", where="channels>2,verdict=succeeded", sort="-loss", last=5)
    assert [line.split()[0] for line in few.out.splitlines() if line.startswith("multinode_")] == [OLD]
    assert "1 of 2 runs" in few.out
    wrong = cluster.verb("list", sort="chanels")
    assert wrong.rc == 2
    assert wrong.messages[0].startswith("sort: no run has 'chanels'; did you mean 'channels'? runs have ")
    one = cluster.verb("list", run_id=OLD)
    assert [line.split()[0] for line in one.out.splitlines() if line.startswith("multinode_")] == [OLD]


@pytest.mark.gate
def test_collect_copies_everything_once(runs: tuple[Cluster, str]) -> None:
    cluster, _new = runs
    home = cluster.experiments / OLD
    before = {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    again = cluster.verb("collect", run_id=OLD)
    assert (again.rc, again.changed) == (0, {"localhost": 0, "node0": 0, "node1": 0}), again.out
    shutil.rmtree(home)
    first = cluster.verb("collect", run_id=OLD)
    assert first.rc == 0, first.out
    assert first.changed["node0"] >= 1
    assert first.changed["node1"] == 1
    assert (home / "plan.json").read_bytes() == (cluster.run_dir("node0", OLD) / "plan.json").read_bytes()
    after = {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert after.keys() == before.keys()
    assert {path for path in before if before[path] != after[path]} == set()
    for rank in range(4):
        assert f"rank {rank} of 4 begins" in (home / "ranks" / f"rank_0{rank}.log").read_text()
        assert len((home / "outputs" / f"rank_0{rank}_metrics.jsonl").read_text().splitlines()) == 10
    merged = [path.read_text() for path in sorted((home / "logs").iterdir())]
    assert [path.name.split("_")[:2] for path in sorted((home / "logs").iterdir())] == [["node", "0"], ["node", "1"]]
    assert "rank1 | rank 1 ends" in merged[0]
    assert "rank3 | rank 3 ends" in merged[1]
    assert json.loads((home / "plan.json").read_text())["run_id"] == OLD


def test_collect_of_an_active_run(runs: tuple[Cluster, str]) -> None:
    cluster, new = runs
    played = cluster.verb("collect")
    assert played.rc == 0, played.out
    assert " running · " in summary(played)
    assert (cluster.experiments / new / "outputs" / "rank_01_metrics.jsonl").stat().st_size > 0
    assert cluster.record(new)["verdict"] == "running"


@pytest.mark.gate
def test_stop_twice_and_collect_twice(cluster: Cluster) -> None:
    launched = cluster.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    assert len(cluster.processes(RUN_ID)) >= 4

    stopped = cluster.verb("stop")
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    # The head writes the experiment; and whom the other's request reaches first has nothing left to change.
    assert stopped.changed["node0"] >= 1
    assert cluster.processes() == []
    asking = f"asking the runners of {RUN_ID} on node0 and node1 to stop: SIGTERM, and SIGKILL after up to 5 s"
    assert asking in stopped.out
    assert "had already ended" not in stopped.out
    again = cluster.verb("stop", run_id=RUN_ID)
    assert f"{RUN_ID} had already ended: nothing to stop" in again.out
    assert "asking the runners" not in again.out
    assert (again.rc, again.phases) == (0, {"node0": "stopped", "node1": "stopped"}), again.out
    assert again.changed == {"localhost": 0, "node0": 0}
    assert cluster.record()["verdict"] == "stopped"

    collected = cluster.verb("collect")
    assert (collected.rc, collected.changed["node1"]) == (0, 1), collected.out
    assert "stop requested" in collected.out
    again = cluster.verb("collect", run_id=RUN_ID)
    assert (again.rc, again.changed) == (0, {"localhost": 0, "node0": 0, "node1": 0}), again.out


@pytest.mark.parametrize(
    ("script_args", "named", "rc", "verdict"),
    [(["--seconds", "5"], True, 0, "succeeded"), (["--fail-rank", "1", "--how", "exit7"], False, 2, "failed")],
    ids=["succeeds", "fails"],
)
def test_launch_and_follow_later(cluster: Cluster, script_args: list[str], named: bool, rc: int, verdict: str) -> None:
    launched = cluster.launch(script_args=script_args)
    assert launched.rc == 0, launched.out
    assert "TASK [muster.train.launch : Follow" not in launched.out
    followed = cluster.verb("follow", **{"run_id": RUN_ID} if named else {})
    assert followed.rc == rc, followed.out
    assert f" {verdict} · 2 ranks on 2 nodes · " in summary(followed)
    assert cluster.record()["verdict"] == verdict
    assert (cluster.experiments / RUN_ID / "outputs" / "rank_01_metrics.jsonl").exists()


def test_a_program_reads_the_list_as_one_document(runs: tuple[Cluster, str]) -> None:
    cluster, new = runs
    done = cluster.play("playbooks/list.yml", apart=True, ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    assert done.rc == 0, done.err
    results = [task["hosts"] for play in json.loads(done.out)["plays"] for task in play["tasks"]]
    (experiments,) = [host["experiments"] for hosts in results for host in hosts.values() if "experiments" in host]
    assert [(entry["run_id"], entry["verdict"], entry["ended"]) for entry in experiments] == [
        (OLD, "succeeded", True),
        (new, "running", False),
    ]
    assert OLD in done.err, "what people read is printed beside it"


def test_a_node_that_is_not_in_the_inventory_any_more_keeps_its_row(cluster: Cluster) -> None:
    launched = cluster.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    cluster.names.remove("node1")
    cluster.write()
    status = cluster.verb("status", run_id=RUN_ID)
    assert status.phases == {"node0": "running", "node1": "running"}, status.out
    assert re.search(r"^node1 +1 +running +1 .* not in this inventory", status.out, re.MULTILINE), status.out
    logs = cluster.verb("logs")
    # Not read a second time.
    assert re.search(r"where it is not the newest\] \*+\nskipping: ", logs.out), logs.out
    assert logs.out.count("begins") == 1, logs.out
    # The head's runner tells all nodes of the run.
    stopped = cluster.verb("stop", run_id=RUN_ID)
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    assert cluster.processes() == []
    collected = cluster.verb("collect", run_id=RUN_ID)
    assert collected.rc == 2, collected.out
    assert "it is not in this inventory; expected" in collected.out
