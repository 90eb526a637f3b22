# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools, by their own word."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.system import Tools
from ansible_collections.muster.train.plugins.module_utils._software.tools import parse_version, read_tools
from ansible_collections.muster.train.tests.support.machines import Machine


def answer(text: str) -> dict[str, object]:
    return {"rc": 0, "stdout": text, "stderr": ""}


def test_a_node_of_a_slurm_cluster(tmp_path: Path) -> None:
    commands = {
        "docker --version": answer("podman version 4.9.4-rhel\n"),  # the package podman-docker
        "podman --version": answer("podman version 4.9.4-rhel\n"),
        "singularity --version": answer("singularity-ce version 4.1.2\n"),
        "srun --version": answer("slurm 23.11.4\n"),
    }
    result = read_tools(Machine({"commands": commands}, tmp_path))
    assert result == Tools(docker=None, podman="4.9.4-rhel", apptainer="4.1.2", slurm="23.11.4")


def test_none(tmp_path: Path) -> None:
    assert read_tools(Machine({}, tmp_path)) == Tools()


@pytest.mark.parametrize(
    ("text", "begins", "version"),
    [
        ("Docker version 24.0.7, build afdd53b\n", "Docker version", "24.0.7"),
        ("apptainer version 1.3.4-1.el9\n", "apptainer version", "1.3.4-1.el9"),
        ("Docker version\n", "Docker version", None),
        ("Illegal instruction 1.2.3\n", "Docker version", None),
        ("", "slurm", None),
    ],
)
def test_parse_version(text: str, begins: str, version: str | None) -> None:
    assert parse_version(text, begins) == version
