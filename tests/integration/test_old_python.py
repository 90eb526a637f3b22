# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch on a node whose Python is too old: for Muster alone, for Ansible as well, or for the ranks."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.pythons import find_python


def interpreter(version: str) -> str:
    """Return an interpreter of this version; skip where there is none."""
    python = find_python(version)
    if not python:
        pytest.skip(f"no Python {version} here: pyenv install {version}")
    return python


@pytest.mark.parametrize(
    ("version", "observed"),
    [("3.8", "python3.8 is Python 3.8."), ("3.7", "the Python of node1 is too old"), ("2.7", "the Python of node1 is")],
)
def test_of_the_modules(cluster: Cluster, version: str, observed: str) -> None:
    cluster.per_node["node1"] = {"ansible_python_interpreter": interpreter(version)}
    cluster.write()
    played = cluster.play("launch.yml")
    assert played.rc != 0
    [line] = played.messages
    assert line.startswith("node1: answer: ")
    assert observed in line
    assert "expected Python 3.9 or newer" in line
    assert "ansible_python_interpreter" in line


def test_of_the_ranks(cluster: Cluster) -> None:
    python = interpreter("3.8")
    cluster.per_node["node1"] = {"launch_python": python}
    cluster.write()
    played = cluster.play("launch.yml")
    assert played.rc != 0
    [line] = played.messages
    assert line.startswith(f"node1: python interpreter: {python} is Python 3.8.")
