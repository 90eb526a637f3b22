# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime apptainer in a plan: the host's runner and paths, the launcher in an image."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.binds import wanted
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.facts import image_options
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.runtimes.apptainer import ENTER
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.image_faults import IMAGE
from ansible_collections.muster.train.tests.support.plan_parts import NO_GPU, RUN_ID, nodes, policy, request

POLICY = {"runtime": "apptainer", "image": "/images/train.sif", "binds": ["/data:/data:ro"]}
RUN_DIR = f"/home/ann/muster/.muster/nodes/node1/runs/{RUN_ID}"


def job(facts: dict[str, Any] | None = None, gpu: Any = NO_GPU, **changes: Any) -> dict[str, Any]:
    """The job of the second node; facts are of its image, changes of the policy."""
    apptainer = {**IMAGE, **(facts or {})}
    inherited = [
        {"kind": "login", "source": "login", "variables": {"CUDA_VISIBLE_DEVICES": "0", "NCCL_ALGO": "Ring"}},
        {"kind": "nccl", "source": "/etc/nccl.conf", "variables": {"NCCL_MIN_NCHANNELS": "8"}},
    ]
    on = nodes(2, gpu=dict(gpu), apptainer=apptainer, inherited=inherited)
    plan = make_plan(request(2, nproc=1), policy(**{**POLICY, **changes}), on)
    return dict(plan["jobs"]["node1"])


def variables(of: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in of["environment"]}


def test_the_launcher_runs_in_the_image() -> None:
    made = job()
    assert made["argv"] == [
        *("apptainer", "exec", "--cleanenv"),
        *("--bind", "/home/ann/muster", "--bind", "/home/ann/code", "--bind", "/data:/data:ro"),
        *("/images/train.sif", "/bin/sh", "-c", ENTER, "muster"),
        *("python3", f"{RUN_DIR}/torchrun.py", "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=static"),
        *(f"--rdzv-id={RUN_ID}", "--rdzv-conf=timeout=300", f"--log-dir={RUN_DIR}/errors", "--max-restarts=0"),
        "/home/ann/code/train.py",
    ]
    assert (made["runtime"], made["starter"], made["container"]) == ("apptainer", "setsid", None)


@pytest.mark.parametrize(("vendor", "option"), [("nvidia", "--nv"), ("amd", "--rocm")])
def test_the_image_gets_the_gpus_of_the_node(vendor: str, option: str) -> None:
    words = job(gpu={"vendor": vendor, "count": 1, "driver_version": "1"})["argv"]
    assert words[:4] == ["apptainer", "exec", "--cleanenv", option]


def test_the_commands_of_the_policy() -> None:
    words = job(apptainer=["/opt/bin/apptainer"], apptainer_options=["--userns"])["argv"]
    assert words[:4] == ["/opt/bin/apptainer", "exec", "--cleanenv", "--userns"]


def test_nccls_files_are_bound_where_a_node_has_them() -> None:
    existing = {"/data": True, "/etc/nccl.conf": True, "/etc/topo:1": True}
    words = job({"binds": existing})["argv"]
    binds = [value for word, value in itertools.pairwise(words) if word == "--bind"]
    assert binds[2:] == ["/data:/data:ro", "/etc/nccl.conf:/etc/nccl.conf:ro", r"/etc/topo\:1:/etc/topo\:1:ro"]


def test_the_target_of_a_link_is_bound_before_it() -> None:
    words = job({"links": {"/home/ann/code": "/scratch/ann/code"}})["argv"]
    expected = ["--bind", "/home/ann/muster", "--bind", "/scratch/ann/code", "--bind", "/home/ann/code"]
    assert words[3:9] == expected


def test_a_topology_file_is_bound_without_its_directory() -> None:
    gpu = {**NO_GPU, "topology_file": {"path": "/opt/microsoft/topo.xml", "source": None}}
    assert "/opt/microsoft/topo.xml:/opt/microsoft/topo.xml:ro" in job(gpu=gpu)["argv"]
    layers: list[dict[str, Any]] = [{"NCCL_TOPO_FILE": "/opt/a.xml"}, {"X": 1}, {"NCCL_TOPO_FILE": "/opt/b.xml"}]
    assert wanted(["/data"], layers) == ["/data", "/opt/a.xml:/opt/a.xml:ro", "/opt/b.xml:/opt/b.xml:ro"]


def test_the_ranks_inherit_of_the_image_and_of_nccls_files_and_only_gpus_of_the_login() -> None:
    made = variables(job({"variables": {"NCCL_PROTO": "Simple"}}))
    wanted_names = ("CUDA_VISIBLE_DEVICES", "NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "PYTHONNOUSERSITE")
    assert [made.get(name) for name in wanted_names] == ["0", None, "Simple", "8", "1"]


def test_a_user_may_want_the_packages_of_the_home() -> None:
    assert variables(job(env={"PYTHONNOUSERSITE": ""}))["PYTHONNOUSERSITE"] == ""


def test_an_image_is_needed() -> None:
    with pytest.raises(PlanError) as caught:
        policy(runtime="apptainer")
    assert outcomes(caught.value.findings) == [("launch_image", None, "fail")]
    assert image_options({"launch_image": "", "launch_binds": ["/x"]}, []) == {}
