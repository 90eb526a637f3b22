# SPDX-License-Identifier: GPL-3.0-or-later
"""Every mutation of `make mutations` fits its role, and every defect of `make mutations-gate` applies."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess

import pytest
import yaml

from ansible_collections.muster.train.tests.support.mutations import DEFECTS, MUTATIONS, Defect, mutate
from ansible_collections.muster.train.tests.support.play import ROOT


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_fit_the_roles(name: str) -> None:
    _role, mutation = MUTATIONS[name]
    before = (ROOT / mutation["file"]).read_text()
    after = mutate(before, mutation)
    read = yaml.safe_load if mutation["file"].endswith(".yml") else code_of
    assert read(after) != read(before)


def code_of(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_defects_apply() -> None:
    command = ["git", "apply", "--check", *(str(defect.path) for defect in DEFECTS)]
    # In a tarball's tree below another repository git would leave out all files.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(ROOT.parent)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: str(defect.name))
def test_a_defect_names_tests_that_exist(defect: Defect) -> None:
    assert defect.summary.endswith(".")
    assert defect.found_by
    for test in defect.found_by:
        path, _colons, name = test.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), test
