# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks inherit in a container, from the answers of Docker's client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container.service import read_service
from ansible_collections.muster.train.plugins.module_utils._records.system import Inherited
from ansible_collections.muster.train.tools._machine.machine import Machine

CONFIG = "docker compose --file /w/compose.yml config --format json"
INSPECT = "docker image inspect --format '{{json .Config.Env}}' -- lab/train:1"
SERVICE = {
    "image": "lab/train:1",
    "environment": {"NCCL_DEBUG": "INFO", "PATH": "/bin", "NCCL_NULL": None},
    "volumes": [{"type": "bind", "source": "/site/nccl.conf", "target": "/etc/nccl.conf"}, {"target": "/data"}, 7],
}


def read(tmp_path: Path, answers: dict[str, Any]) -> tuple[list[Inherited], list[str]]:
    warnings: list[str] = []
    machine = Machine({"commands": answers, "files": {"/site/nccl.conf": "NCCL_IB_DISABLE=1\n"}}, tmp_path)
    return read_service(machine, ["docker"], "/w/compose.yml", "train", warnings.append), warnings


def test_the_strongest_first(tmp_path: Path) -> None:
    image = {"stdout": json.dumps(["NCCL_ALGO=Ring", "NCCL_VERSION=2.21.5-1", "PATH=/usr/bin"])}
    answers = {CONFIG: {"stdout": json.dumps({"services": {"train": SERVICE}})}, INSPECT: image}
    inherited, warnings = read(tmp_path, answers)
    assert inherited == [
        Inherited("image", "/w/compose.yml (train)", {"NCCL_DEBUG": "INFO"}, in_container=True),
        Inherited("image", "image lab/train:1", {"NCCL_ALGO": "Ring"}, in_container=True),
        Inherited("nccl", "/etc/nccl.conf in the container", {"NCCL_IB_DISABLE": "1"}, in_container=True),
    ]
    assert warnings == []


UNREAD: dict[str, dict[str, Any]] = {
    "no file": {"rc": 1, "stderr": "no such file"},
    "no service": {"stdout": "{}"},
    "another document": {"stdout": "[1]"},
}


@pytest.mark.parametrize("answer", UNREAD.values(), ids=UNREAD)
def test_a_service_that_cannot_be_read(tmp_path: Path, answer: dict[str, Any]) -> None:
    inherited, warnings = read(tmp_path, {CONFIG: answer})
    assert (inherited, len(warnings)) == ([], 1)
