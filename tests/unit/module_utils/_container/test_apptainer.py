# SPDX-License-Identifier: GPL-3.0-or-later
"""Apptainer on a node, by what its command answers; tests/integration/test_apptainer.py has a real one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container import apptainer
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.system import Apptainer

VERSION = CommandResult(0, "apptainer version 1.4.5\n", "")
ANSWER: dict[str, Any] = {
    "python": "3.12.3",
    "torch": "2.9.0",
    "nccl": None,
    "infiniband": False,
    "variables": {"NCCL_DEBUG": "x", "A": "b"},
}
RUN = CommandResult(0, f"a banner of the site\n{json.dumps(ANSWER)}\n", "")


def read(tree: Path, files: Mapping[str, bytes], run: CommandResult = RUN, version: CommandResult = VERSION) -> Any:
    """The facts of a machine with these files, and all commands that were run on it."""
    for name, data in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    commands: list[list[str]] = []

    def answer(argv: Any, _timeout: float = 0.0, _cwd: str | None = None) -> CommandResult:
        commands.append(list(argv))
        return version if "--version" in argv else run

    binds = ["/data:/mnt:ro", "/none:/mnt2"]
    options = (["apptainer"], ["--userns"], "/x.sif", "python3", "/code", binds, ["/home", "/code"])
    return apptainer.read_apptainer(Host(str(tree), answer), *options), commands


SIF = b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\x0001\x0002\0" + bytes(range(16)) + b"\0" * 64
FILES = {
    "x.sif": SIF,
    "data/shard": b"",
    "etc/nccl.conf": b"NCCL_TOPO_FILE=/etc/crusoe/topo.xml\n",
    "code/train.py": b"",
}


def test_what_is_in_the_image(tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to("/scratch")
    facts, commands = read(tmp_path, {**FILES, "proc/sys/user/max_user_namespaces": b"100\n"})
    assert facts == Apptainer(
        image="/x.sif",
        exists=True,
        version="1.4.5",
        identity=bytes(range(16)).hex(),
        has_python=True,
        python="3.12.3",
        torch="2.9.0",
        variables={"NCCL_DEBUG": "x"},
        binds={"/data": True, "/none": False, "/etc/nccl.conf": True, "/etc/crusoe/topo.xml": False},
        links={"/home": "/scratch"},
        infiniband=False,
        fuse=False,
        user_namespaces=True,
    )
    expected = ["apptainer", "--quiet", "exec", "--cleanenv", "--userns", "--bind", "/data:/mnt:ro", "--bind", "/code"]
    # What is missing would keep Apptainer from starting.
    assert commands[1][: len(expected) + 1] == [*expected, "/x.sif"]


@pytest.mark.parametrize(
    ("run", "has_python", "why"),
    [
        (CommandResult(127, "", ""), False, None),
        (CommandResult(255, "", "FATAL:   container creation failed\n"), None, "container creation failed"),
        (CommandResult(None, "", "", timed_out=True), None, "no answer within 7 s"),
        (CommandResult(0, "not JSON", ""), None, "not JSON"),
    ],
    ids=["no interpreter", "nothing runs", "slow", "another program"],
)
def test_an_image_without_an_answer(
    run: CommandResult, has_python: bool | None, why: str | None, tmp_path: Path
) -> None:
    facts, _commands = read(tmp_path, FILES, run)
    assert (facts.has_python, facts.why, facts.python, facts.variables) == (has_python, why, None, {})


def test_without_apptainer_or_without_the_image_nothing_is_run(tmp_path: Path) -> None:
    missing = CommandResult(None, "", "", missing=True)
    for files, version in ((FILES, missing), ({}, VERSION)):
        facts, commands = read(tmp_path / str(len(files)), files, version=version)
        assert (facts.exists, facts.version, facts.has_python) == (bool(files), None if files else "1.4.5", None)
        assert len(commands) == 1


@pytest.mark.parametrize("setting", [b"0", b""])
def test_user_namespaces_that_are_switched_off(setting: bytes, tmp_path: Path) -> None:
    clone = {"proc/sys/kernel/unprivileged_userns_clone": b"0", "proc/sys/user/max_user_namespaces": b"9"}
    files = {"proc/sys/user/max_user_namespaces": setting} if setting else clone
    assert read(tmp_path, files)[0].user_namespaces is False
