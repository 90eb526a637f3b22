# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils.runner.environment import environment_of, environments_of
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import Layer
from ansible_collections.muster.train.tests.support.jobs import make_job


def test_modules_of_the_code_are_imported_wherever_the_ranks_start(tmp_path: Path) -> None:
    def python_path(cwd: str, **inherited: str) -> list[str]:
        job = make_job(tmp_path, ["python3"], code_dir="/code", cwd=cwd)
        site, *path = environment_of(job, {"environment": inherited})["PYTHONPATH"].split(":")
        assert site == f"{job.run_dir}/site.zip"
        return path

    assert python_path("/code") == []
    assert python_path("/code", PYTHONPATH="/lib") == ["/lib"]
    assert python_path("/run") == ["/code"]
    assert python_path("/run", PYTHONPATH="/lib") == ["/code", "/lib"]


def test_a_default_fills_only_a_gap(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["python3"])
    defaults = [Variable(name, "default", "default", "", layer=Layer.DEFAULT) for name in ("A", "B", "C")]
    decided = Variable("D", "plan", "muster", "", layer=Layer.MACHINE)
    job = replace(job, environment=[*job.environment, *defaults, decided])
    private = {"environment": {"A": "login", "D": "login"}, "secrets": {"B": "secret", "D": "secret"}}
    environment = environment_of(job, private)
    assert [environment[name] for name in "ABCD"] == ["login", "secret", "default", "plan"]


def test_in_an_image_the_ranks_get_the_plan_and_apptainer_gets_the_login(tmp_path: Path) -> None:
    decided = Variable("D", "plan", "muster", "", layer=Layer.MACHINE)
    job = make_job(tmp_path, ["apptainer"], runtime="apptainer")
    mark = Variable("MUSTER_RUN_ID", job.run_id, "muster", "", layer=Layer.MACHINE)
    login = {"PATH": "/opt/bin", "LD_PRELOAD": "x.so", "CUDA_VISIBLE_DEVICES": "3", "SLURM_JOB_ID": "7"}
    private = {"environment": login, "secrets": {"TOKEN": "secret"}}
    inside, outside = environments_of(replace(job, environment=[decided, mark]), private)
    assert {name: inside.get(name) for name in (*login, "TOKEN", "D", "MUSTER_RUN_ID")} == {
        "PATH": None,
        "LD_PRELOAD": None,
        "CUDA_VISIBLE_DEVICES": "3",
        "SLURM_JOB_ID": "7",
        "TOKEN": "secret",
        "D": "plan",
        "MUSTER_RUN_ID": job.run_id,
    }
    assert outside == {**login, "MUSTER_RUN_ID": job.run_id}
    assert environments_of(replace(job, runtime="host"), private)[1] is None
