# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils.runner.environment import environment_of
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
