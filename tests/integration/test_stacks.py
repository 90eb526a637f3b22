# SPDX-License-Identifier: GPL-3.0-or-later
"""stacks of a run that hangs: which rank is at another place, in the terminal, as a document and as files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for


def hang(cluster: Cluster, rank: int, world_size: int, **parameters: object) -> None:
    """Launch a run in which this rank never comes to where the others wait."""
    mark = cluster.home / "mark"
    mark.mkdir()
    arguments = ["--rank", str(rank), "--mark", str(mark)]
    launched = cluster.launch(script="hanging.py", script_args=arguments, **parameters)
    assert launched.rc == 0, launched.out
    wait_for(lambda: len(list(mark.glob("at_*"))) == world_size, "all ranks are where they stay")


def files_of(cluster: Cluster) -> dict[str, str]:
    (folder,) = (cluster.experiments / RUN_ID / "stacks").iterdir()
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.gate
def test_the_rank_that_hangs_is_alone(cluster: Cluster, tmp_path: Path) -> None:
    hang(cluster, 2, 4, launcher="torchrun", nproc=2)
    before = cluster.identities()
    played = cluster.verb("stacks")
    assert played.rc == 0, played.out
    assert re.search(r"^3 +0-1, 3 +meet \(hanging\.py:\d+\)$", played.out, re.MULTILINE), played.out
    assert re.search(r"^1 +2 +load_batch \(hanging\.py:\d+\)$", played.out, re.MULTILINE), played.out
    files = files_of(cluster)
    assert sorted(files) == [f"rank_{rank:02d}.txt" for rank in range(4)]
    assert re.search(r"^rank 2 \(PID \d+\) on node1 of ", files["rank_02.txt"])
    assert re.search(r'^  File ".*/hanging\.py", line \d+, in load_batch$', files["rank_02.txt"], re.MULTILINE)
    # The ranks had the signals that any Python has, and were sent none that ends them.
    assert {path.read_text() for path in tmp_path.glob("mark/handled_*")} == {"[2, 13, 25]"}
    assert cluster.identities() == before
    parameters = json.dumps({"output": "json", "rank": 2})
    printed = cluster.play("playbooks/stacks.yml", "-e", parameters, apart=True)
    assert printed.rc == 0, printed.err
    document = json.loads(printed.out)
    assert documents.errors(document) == []
    assert [(stacks["rank"], stacks["node"]) for stacks in document["ranks"]] == [(2, "node1")]
    stopped = cluster.verb("stop")
    assert stopped.rc == 0, stopped.out
    late = cluster.verb("stacks")
    assert late.rc == 2
    assert f"{RUN_ID} stopped: only living processes have stacks; its last lines: " in late.out


def test_a_sitecustomize_and_a_handler_of_the_users_own(cluster: Cluster, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "sitecustomize.py").write_text(
        "import os, pathlib, signal\n"
        "signal.signal(signal.SIGUSR1, lambda *_: None)\n"
        "pathlib.Path(os.environ['WHERE'], 'customized').touch()\n"
    )
    hang(cluster, 0, 2, env={"PYTHONPATH": str(library), "WHERE": str(tmp_path)})
    assert (tmp_path / "customized").exists()
    handled = [json.loads(path.read_text()) for path in tmp_path.glob("mark/handled_*")]
    assert [(10 in numbers, 61 in numbers) for numbers in handled] == [(True, False)] * 2
    played = cluster.verb("stacks")
    assert played.rc == 0, played.out
    assert "load_batch (hanging.py:" in played.out


def test_a_program_that_is_not_python_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "program.sh").write_text("#!/bin/sh\nexport RANK=0\nexec sleep 600\n")
    (code / "program.sh").chmod(0o755)
    launched = cluster.launch("-e", json.dumps({"launch_code_dir": str(code)}), script="./program.sh", launcher="exec")
    assert launched.rc == 0, launched.out
    before = cluster.identities()
    played = cluster.verb("stacks")
    assert played.rc == 2
    assert "its process is not one of Python" in played.out
    assert cluster.identities() == before
    assert not (cluster.experiments / RUN_ID / "stacks").exists()
