# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: the whole command of ranks that run under a profiler."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import (
    POLICY,
    RUN_ID,
    facts_dict,
    node,
    nodes,
    policy,
    refused,
    request,
)

RUN_DIR = f"/home/ann/muster/.muster/nodes/node1/runs/{RUN_ID}"
NVIDIA, AMD = {"vendor": "nvidia", "count": 8}, {"vendor": "amd", "count": 8}
FILE = {"exists": True, "readable": True, "sha256": "3" * 64}
FILES = {
    **facts_dict(0)["files"],
    "counters.yaml": {**FILE, "path": "/home/ann/code/counters.yaml"},
    POLICY["launch_compose_file"]: {**FILE, "path": "/home/ann/muster/container/compose.yaml"},
}
FOUND: dict[str, Any] = {
    "rocprofv3": {"files": FILES, "profiler": {"path": "/opt/rocm/bin/rocprofv3", "version": "1.1.0"}, "gpu": AMD},
    "nsys": {"files": FILES, "profiler": {"path": "/usr/local/cuda/bin/nsys", "version": "2025.1"}, "gpu": NVIDIA},
    # As its containers have it.
    "rocprofv3 inside": {"files": FILES, "profiler": {"path": "rocprofv3", "version": "1.1.0"}, "gpu": AMD},
}
TORCHRUN = [
    f"{RUN_DIR}/torchrun.py",
    "--nnodes=2",
    "--nproc-per-node=8",
    "--rdzv-backend=static",
    f"--rdzv-id={RUN_ID}",
    "--rdzv-conf=timeout=300",
    f"--log-dir={RUN_DIR}/errors",
    "--max-restarts=0",
]
PYTHON = "/usr/bin/python3"
TRAIN = ["/home/ann/code/train.py", "-x"]
ROCPROF = ["-d", f"{RUN_DIR}/outputs/rank_%env{{RANK}}%_rocprof", "--"]
NSYS = ["profile", "-o", f"{RUN_DIR}/outputs/rank_%q{{RANK}}_nsys.%p"]


def argv(tool: str, runtime: str, **parameters: Any) -> list[str]:
    """The command of the second of two nodes on which that is found."""
    asked, of = request(2, script_args=["-x"], **parameters), policy(runtime=runtime)
    command: list[str] = make_plan(asked, of, nodes(2, **FOUND[tool]))["jobs"]["node1"]["argv"]
    return command


HOST = [PYTHON, *TORCHRUN, "--no_python", "/opt/rocm/bin/rocprofv3"]
SOME = [PYTHON, *TORCHRUN, "--no_python", PYTHON, f"{RUN_DIR}/profiled.py"]
CAPTURE = "--capture-range=cudaProfilerApi"


@pytest.mark.parametrize(
    ("tool", "parameters", "expected"),
    [
        ("rocprofv3", {"rocprof": True}, [*HOST, "--kernel-trace", *ROCPROF, PYTHON, "-u", *TRAIN]),
        (
            "rocprofv3",
            {"rocprof": True, "stats": True},
            [*HOST, "--kernel-trace", "--stats", *ROCPROF, PYTHON, "-u", *TRAIN],
        ),
        (
            "rocprofv3",
            {"rocprof": True, "rocprof_input": "counters.yaml"},
            [*HOST, "-i", "/home/ann/code/counters.yaml", *ROCPROF, PYTHON, "-u", *TRAIN],
        ),
        (
            "rocprofv3",
            {"rocprof": True, "profiler_args": ["--output-format", "pftrace"], "script": None, "module": "pkg.train"},
            [*HOST, "--kernel-trace", "--output-format", "pftrace", *ROCPROF, PYTHON, "-u", "-m", "pkg.train", "-x"],
        ),
        (
            "rocprofv3",
            {"rocprof": True, "profile_ranks": "0,8-11"},
            [*SOME, "0,8-11", "5", "/opt/rocm/bin/rocprofv3", "--kernel-trace", *ROCPROF, PYTHON, "-u", *TRAIN],
        ),
        (
            "nsys",
            {"nsys": True},
            [PYTHON, *TORCHRUN, "--no_python", "/usr/local/cuda/bin/nsys", *NSYS, PYTHON, "-u", *TRAIN],
        ),
        (
            "nsys",
            {"nsys": True, "profiler_args": [CAPTURE], "profile_ranks": "15"},
            [*SOME, "15", "5", "/usr/local/cuda/bin/nsys", *NSYS, CAPTURE, PYTHON, "-u", *TRAIN],
        ),
        # One rank a node.
        (
            "rocprofv3",
            {"rocprof": True, "launcher": "python", "nproc": 1},
            ["/opt/rocm/bin/rocprofv3", "--kernel-trace", *ROCPROF, PYTHON, *TRAIN],
        ),
        # A profiler that is off leaves nothing of itself.
        (
            "rocprofv3",
            {"rocprof": False, "stats": True, "profile_ranks": "999"},
            [PYTHON, *TORCHRUN, *TRAIN],
        ),
    ],
)
def test_on_the_host(tool: str, parameters: dict[str, Any], expected: list[str]) -> None:
    assert argv(tool, "host", **parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({}, []), ({"profile_ranks": "8"}, ["python3", f"{RUN_DIR}/profiled.py", "8", "6"])],
)
def test_in_containers(parameters: dict[str, Any], words: list[str]) -> None:
    """The run directory has the same path there, and the interpreter and the profiler are the image's."""
    expected = ["python3", *TORCHRUN, "--no_python", *words, "rocprofv3", "--kernel-trace", "--stats", *ROCPROF]
    command = argv("rocprofv3 inside", "docker", rocprof=True, stats=True, **parameters)
    assert command == [*expected, "python3", "-u", *TRAIN]


def test_outputs_that_all_nodes_share() -> None:
    shared = {**FOUND["nsys"], "files": {**FILES, "/mnt": {"path": "/mnt", "exists": True, "readable": False}}}
    plan = make_plan(request(2, nsys=True), policy(shared_output_dir="/mnt"), nodes(2, **shared))
    for job in plan["jobs"].values():
        assert f"/mnt/{RUN_ID}/rank_%q{{RANK}}_nsys.%p" in job["argv"]


ABSENT = node(1, gpu=AMD, profiler={"path": None})
BROKEN = {"path": None, "why": "docker compose run: no answer within 8 s"}
CASES = [
    Case(
        "a node without rocprofv3",
        lambda: refused(request(2, rocprof=True), policy(), [nodes(1, **FOUND["rocprofv3"])[0], ABSENT]),
        [("profiler", "node1", "fail")],
    ),
    Case(
        "an image without nsys",
        lambda: refused(
            request(1, nsys=True),
            policy(runtime="docker"),
            nodes(1, files=FILES, gpu=NVIDIA, profiler={"path": None}),
        ),
        [("profiler", "node0", "fail")],
    ),
    Case(
        "rocprof on NVIDIA's GPUs",
        lambda: refused(request(1, rocprof=True), policy(), nodes(1, **{**FOUND["rocprofv3"], "gpu": NVIDIA})),
        [("profiler", "node0", "fail")],
    ),
    Case(
        "nsys on AMD's GPUs",
        lambda: refused(request(1, nsys=True), policy(), nodes(1, **{**FOUND["nsys"], "gpu": AMD})),
        [("profiler", "node0", "fail")],
    ),
    Case(
        "no input file",
        lambda: refused(request(1, rocprof=True, rocprof_input="no.yaml"), policy(), nodes(1, **FOUND["rocprofv3"])),
        [("files", "node0", "fail")],
    ),
    Case(
        "a rank that the run does not have",
        lambda: refused(request(2, nsys=True, profile_ranks="0,16"), policy(), nodes(2, **FOUND["nsys"])),
        [("profile_ranks", None, "fail")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_stops_a_launch(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize("profiler", [None, BROKEN], ids=["unread", "no answer"])
def test_a_profiler_that_could_not_be_looked_for_does_not_stop_a_launch(profiler: Any) -> None:
    plan = make_plan(request(1, rocprof=True, mode="tcp"), policy(), nodes(1, gpu=AMD, profiler=profiler))
    assert (plan["findings"], "rocprofv3" in plan["jobs"]["node0"]["argv"]) == ([], True)
