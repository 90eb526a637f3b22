# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of traces against what torch's own profiler writes of two ranks that train over Gloo."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._verbs.report_inputs import read_traces

pytestmark = pytest.mark.slow
STEPS = 3
PROGRAM = f"""\
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

folder = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _layer in range(4)]))
schedule = torch.profiler.schedule(wait=1, warmup=1, active={STEPS}, repeat=1)


def save(profiler):
    profiler.export_chrome_trace(f"{{folder}}/rank_{{rank:02d}}_trace.json" + ".gz" * rank)


with torch.profiler.profile(schedule=schedule, on_trace_ready=save) as profiler:
    for _step in range({STEPS} + 2):
        model(torch.randn(64, 256)).sum().backward()
        profiler.step()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("traces")
    (folder / "train.py").write_text(PROGRAM)
    argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*argv, folder / "train.py", folder], check=True, timeout=110, capture_output=True)
    return folder


def test_both_ranks_compute_and_communicate(folder: Path) -> None:
    traces = read_traces(folder)
    assert [(trace.rank, trace.steps, trace.on_gpu, trace.problem) for trace in traces] == [
        (rank, STEPS, False, None) for rank in range(2)
    ]
    for trace in traces:
        assert 0 < trace.compute_s < trace.window_s
        assert 0 < trace.communication_s < trace.window_s
        assert 0 <= trace.overlap_s <= min(trace.compute_s, trace.communication_s)
        busy = trace.compute_s + trace.communication_s - trace.overlap_s
        assert busy + trace.idle_s == pytest.approx(trace.window_s)


def test_the_same_by_a_reader_of_the_whole_text(folder: Path) -> None:
    """Count each microsecond, once for each kind."""
    known = json.loads((folder / "rank_00_trace.json").read_text())["traceEvents"]
    ticks: dict[bool, set[int]] = {True: set(), False: set()}
    for event in known:
        name = event["name"]
        computes, communicates = name.startswith("aten::"), name.startswith(("gloo:", "c10d::"))
        if event["ph"] == "X" and (computes or communicates):
            begin = event["ts"] - known[-1]["ts"]
            ticks[computes].update(range(round(10 * begin), round(10 * (begin + event["dur"]))))
    trace = read_traces(folder)[0]
    assert trace.compute_s == pytest.approx(len(ticks[True]) / 1e7, rel=0.01)
    assert trace.communication_s == pytest.approx(len(ticks[False]) / 1e7, rel=0.01)
    assert trace.overlap_s == pytest.approx(len(ticks[True] & ticks[False]) / 1e7, rel=0.02, abs=1e-5)


def test_traces_that_are_cut_off_are_read_as_far_as_they_go(folder: Path, tmp_path: Path) -> None:
    plain, packed = folder / "rank_00_trace.json", folder / "rank_01_trace.json.gz"
    (tmp_path / "node_1").mkdir()
    (tmp_path / "node_1" / plain.name).write_bytes(plain.read_bytes()[: plain.stat().st_size // 2])
    (tmp_path / packed.name).write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    (tmp_path / "empty_trace.json").write_bytes(b"")
    (tmp_path / "empty_trace.json.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "other_trace.json.gz").write_bytes(b"not gzip")
    (tmp_path / "results.json").write_text("{}")
    assert [(trace.file, trace.problem) for trace in read_traces(tmp_path)] == [
        ("empty_trace.json", "empty"),
        ("empty_trace.json.gz", "empty"),
        (f"node_1/{plain.name}", "damaged"),
        ("other_trace.json.gz", "empty"),
        (packed.name, "damaged"),
    ]
