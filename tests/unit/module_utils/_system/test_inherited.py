# SPDX-License-Identifier: GPL-3.0-or-later
"""What processes inherit: the login's variables, and the files of NCCL and RCCL as these read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.system import Inherited
from ansible_collections.muster.train.plugins.module_utils._system.inherited import parse_conf, read_inherited
from ansible_collections.muster.train.tools._machine.machine import Machine

HOME = "/home/ann"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n", {"NCCL_DEBUG": "INFO"}),
        ("NCCL_TOPO_FILE=/a=b\n", {"NCCL_TOPO_FILE": "/a=b"}),
        ("# NCCL_DEBUG=INFO\nexport NCCL_DEBUG=INFO\n NCCL_DEBUG=INFO\nNCCL_DEBUG\n", {}),
        (
            "RCCL_X=1\nGLOO_X=2\nTORCH_X=3\nCUDA_X=4\nHIP_X=5\nLD_PRELOAD=x\n",
            {"CUDA_X": "4", "GLOO_X": "2", "HIP_X": "5", "RCCL_X": "1", "TORCH_X": "3"},
        ),
        ("NCCL_DEBUG=\x1b[2JINFO\r\n", {"NCCL_DEBUG": "\x1b[2JINFO\r"}),
        (
            "NCCL_DEBUG=a\udcffb\n",
            {"NCCL_DEBUG": "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"},
        ),
        ("", {}),
    ],
)
def test_a_file(text: str, variables: dict[str, str]) -> None:
    assert parse_conf(text) == variables


def test_the_strongest_first(tmp_path: Path) -> None:
    files = {f"{HOME}/.nccl.conf": "NCCL_A=1\n", "/etc/nccl.conf": "NCCL_B=2\n", "/etc/rccl.conf": "NCCL_C=3\n"}
    machine = Machine({"files": files, "environment": {"HOME": HOME, "NCCL_D": "4", "PATH": "/bin"}}, tmp_path)
    assert read_inherited(machine) == [
        Inherited("login", "login", {"NCCL_D": "4"}),
        Inherited("nccl", f"{HOME}/.nccl.conf", {"NCCL_A": "1"}),
        Inherited("nccl", "/etc/nccl.conf", {"NCCL_B": "2"}),
        Inherited("rccl", "/etc/rccl.conf", {"NCCL_C": "3"}),
    ]


def test_nccl_conf_file_instead_of_the_user_s(tmp_path: Path) -> None:
    files = {f"{HOME}/.nccl.conf": "NCCL_A=1\n", "/site.conf": "NCCL_B=2\n"}
    environment = {"HOME": HOME, "NCCL_CONF_FILE": "/site.conf"}
    sources = [item.source for item in read_inherited(Machine({"files": files, "environment": environment}, tmp_path))]
    assert sources == ["login", "/site.conf", "/site.conf"], "once for each library"


def test_nothing(tmp_path: Path) -> None:
    assert read_inherited(Machine({}, tmp_path)) == []
