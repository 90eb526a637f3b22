# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch script of a launch: executed by bash, with a program in the place of ansible-playbook."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._slurm.batch import Batch, parse_answer, sbatch_options

HOSTILE = 'it\'s $(touch made) `x` "two" #words;\\'
VALUES: dict[str, Any] = {
    **dict.fromkeys(("partition", "account", "time", "qos", "reservation", "constraint", "exclude", "gres", "gpus")),
    "nnodes": 4,
    "exclusive": True,
    "sbatch_options": [],
}


def test_every_word_arrives_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / HOSTILE.replace("/", "-")
    directory = home / "directory"
    directory.mkdir(parents=True)
    program = tmp_path / "program"
    program.write_text(
        "#!/usr/bin/env python3\nimport json, os, sys\n"
        "seen = [sys.argv[1:], os.getcwd(), os.environ['WORD'], sorted(os.environ)]\n"
        f"json.dump(seen, open({str(tmp_path / 'seen')!r}, 'w'))\nsys.exit(3)\n"
    )
    program.chmod(0o755)
    batch = Batch("run", str(home), str(directory), ["--job-name=run"], {"WORD": HOSTILE}, [str(program), HOSTILE, "b"])
    environment = {"PATH": "/usr/bin:/bin", "MUSTER_SLURM_JOB_ID": "7", "LC_ALL": "C", "SLURM_JOB_ID": "12"}
    done = subprocess.run(["bash", "-c", batch.script()], env=environment, check=False, capture_output=True)
    words, place, word, names = json.loads((tmp_path / "seen").read_text())
    assert (words, place, word) == ([HOSTILE, "b"], str(directory), HOSTILE)
    assert not {"MUSTER_SLURM_JOB_ID", "LC_ALL"} & {*names}
    assert (done.returncode, (home / "job.exit").read_text()) == (3, "3\n")
    assert done.stdout.startswith(b"job 12 on ")
    assert not list(tmp_path.rglob("made"))


def test_options_that_are_not_given_are_left_to_slurm() -> None:
    assert sbatch_options("run", "/e/100%", VALUES) == [
        "--job-name=run",
        "--nodes=4",
        "--ntasks-per-node=1",
        "--exclusive",
        "--output=/e/100%%/job.log",
        "--open-mode=append",
        "--requeue",
    ]
    given = {"partition": "gpu", "time": "8:00:00", "gpus": 8, "exclusive": False, "sbatch_options": ["--no-requeue"]}
    options = sbatch_options("run", "/e", {**VALUES, **given})
    assert {"--partition=gpu", "--time=8:00:00", "--gpus-per-node=8"} <= {*options}
    assert "--exclusive" not in options
    assert options[-1] == "--no-requeue"  # the last one counts


@pytest.mark.parametrize(
    ("text", "expected"), [("12\n", "12"), ("12;cluster\n", "12"), ("", None), ("error: 12", None)]
)
def test_the_answer_of_sbatch(text: str, expected: str | None) -> None:
    assert parse_answer(text) == expected
