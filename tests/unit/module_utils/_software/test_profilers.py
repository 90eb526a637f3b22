# SPDX-License-Identifier: GPL-3.0-or-later
"""Profilers, by their own word: on a node, and in a container from the answers of Docker's client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._records.system import ProfilerTool
from ansible_collections.muster.train.tests.support.machines import Machine

ROCPROF = "             version: 1.1.0\n        git_revision: 7f134157\n        rocm_version: 7.1.0\n"
NSYS = "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0\n"
INSIDE = "docker compose --file /c/w.yml run --no-deps --rm --no-TTY --entrypoint rocprofv3 train --version"


def read(tmp_path: Path, manifest: dict[str, Any], profiler: str, compose_file: str | None = None) -> Any:
    query = FactsQuery("/w", "/c", subset=(), profiler=profiler, compose_file=compose_file)
    return gather(Machine(manifest, tmp_path), query).node.profiler


def program(tmp_path: Path, path: str) -> None:
    """Put a program on a machine, which answers by its manifest."""
    place = tmp_path / path.lstrip("/")
    place.parent.mkdir(parents=True)
    place.touch(mode=0o755)


@pytest.mark.parametrize(
    ("profiler", "path", "answer", "version"),
    [
        ("rocprofv3", "/usr/bin/rocprofv3", ROCPROF, "1.1.0"),
        ("rocprofv3", "/opt/rocm/bin/rocprofv3", ROCPROF, "1.1.0"),
        ("nsys", "/usr/local/cuda/bin/nsys", NSYS, "2025.3.2.474-253236389321v0"),
        ("nsys", "/usr/bin/nsys", "nsys: error while loading shared libraries\n", None),
    ],
)
def test_on_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profiler: str, path: str, answer: str, version: str | None
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    program(tmp_path, path)
    answers = {f"{path} --version": {"stdout": answer}}
    assert read(tmp_path, {"commands": answers}, profiler) == ProfilerTool(path, version)


def test_missing_on_the_node(tmp_path: Path) -> None:
    assert read(tmp_path, {}, "nsys") == ProfilerTool()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"stdout": ROCPROF}, ProfilerTool("rocprofv3", "1.1.0")),
        ({"rc": 1, "stderr": 'exec: "rocprofv3": executable file not found in $PATH\n'}, ProfilerTool()),
        (
            {"rc": 1, "stderr": "Error response from daemon: pull access denied\n"},
            ProfilerTool(why="docker compose run: pull access denied"),
        ),
    ],
)
def test_in_a_container(tmp_path: Path, answer: dict[str, Any], expected: ProfilerTool) -> None:
    assert read(tmp_path, {"commands": {INSIDE: answer}}, "rocprofv3", "w.yml") == expected


def test_nobody_asked(tmp_path: Path) -> None:
    machine = Machine({}, tmp_path)
    assert gather(machine, FactsQuery("/w", "/c", subset=())).node.profiler is None
    assert machine.commands_run == []
