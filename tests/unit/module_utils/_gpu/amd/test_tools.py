# SPDX-License-Identifier: GPL-3.0-or-later
"""amd-smi and rocm-smi are asked for what is missing, and no more."""

from __future__ import annotations

import functools
import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd import tools
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.tools import ToolAnswer, ask
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd.test_smi_output import NEW, OLD, STATIC
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd.test_topology import ROCM_SMI

NAMES = "amd-smi static --asic --bus --json"
LINKS = "amd-smi topology --json"
TABLES = "amd-smi topology"
ROCM = "rocm-smi --showbus --showproductname --showtopotype"
NAMED = {"0000:0c:00.0": "AMD Instinct MI210"}
LINKED = {("0000:0c:00.0", "0000:22:00.0"): "XGMI"}
LINK_TABLE = (
    "LINK TYPE TABLE:\n             0000:22:00.0 0000:0c:00.0\n"
    "0000:22:00.0 SELF         XGMI\n0000:0c:00.0 XGMI         SELF\n"
)

BROKEN = {"rc": 1, "stderr": "Traceback (most recent call last):\nImportError: libamd_smi.so: cannot open\n"}
NO_LINKS = {LINKS: {"stdout": "{}"}, TABLES: {"stdout": "DMA TABLE:\n"}, ROCM: {"stdout": "ERROR: no GPU\n"}}
TROUBLES: dict[str, dict[str, Any]] = {
    "no tool": {"commands": {}},
    "a broken tool": {"commands": {NAMES: BROKEN, ROCM: {"stdout": "\x00garbage"}}, "links": False},
    "an answer without links": {"commands": NO_LINKS, "names": False},
    "an answer that is not JSON": {"commands": {LINKS: {"stdout": "Segmentation fault\n"}}, "names": False},
    "a tool that hangs": {"commands": {}, "hangs": ["amd-smi"]},
}

Asked = tuple[ToolAnswer, list[str], list[str]]
Ask = Callable[..., Asked]


def readings(
    root: Path, commands: dict[str, Any], names: bool = True, links: bool = True, hangs: Sequence[str] = ()
) -> Asked:
    """What the tools answered, what is warned of, and which commands were run."""
    host = OwnMachine({"commands": commands}, root, hangs)
    warnings: list[str] = []
    return ask(host, warnings.append, names=names, links=links), warnings, host.commands_run


@pytest.fixture
def asked(tmp_path: Path) -> Ask:
    return functools.partial(readings, tmp_path)


def test_no_tool_is_called_if_nothing_is_missing(asked: Ask) -> None:
    assert asked({}, names=False, links=False) == (ToolAnswer(), [], [])


def test_one_call_for_names_one_for_links(asked: Ask) -> None:
    commands = {NAMES: {"stdout": json.dumps(STATIC)}, LINKS: {"stdout": json.dumps(NEW)}}
    assert asked(commands) == (ToolAnswer(NAMED, LINKED), [], [NAMES, LINKS])
    assert asked(commands, links=False) == (ToolAnswer(NAMED, {}), [], [NAMES])


def test_an_answer_without_addresses_is_asked_again_as_tables(asked: Ask) -> None:
    commands = {LINKS: {"stdout": json.dumps(OLD)}, TABLES: {"stdout": LINK_TABLE}}
    assert asked(commands, names=False) == (ToolAnswer({}, LINKED), [], [LINKS, TABLES])


def test_rocm_smi_where_amd_smi_is_missing(asked: Ask) -> None:
    answer, warnings, run = asked({ROCM: {"stdout": ROCM_SMI}})
    assert answer == ToolAnswer({"0000:0c:00.0": "AMD Instinct MI210: PCIe"}, LINKED)
    assert warnings == []
    assert run[-1] == ROCM


def test_tools_outside_the_path(asked: Ask) -> None:
    answer, warnings, _run = asked({f"/opt/rocm/bin/{NAMES}": {"stdout": json.dumps(STATIC)}}, links=False)
    assert (answer.names, warnings) == (NAMED, [])


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_tools_that_tell_nothing_are_one_warning(asked: Ask, trouble: dict[str, Any]) -> None:
    answer, warnings, _run = asked(**trouble)
    assert (answer, len(warnings)) == (ToolAnswer(), 1)


def test_every_tool_is_asked_for_links(asked: Ask) -> None:
    assert asked(NO_LINKS, names=False)[2] == [LINKS, TABLES, ROCM]


def test_a_tool_that_hangs_is_left_and_no_other_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("amd-smi", "rocm-smi"):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/asked\nexec sleep 60\n", encoding="utf-8")
        tool.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(tools, "TIMEOUT_S", 0.5)
    warnings: list[str] = []
    assert ask(Host(), warnings.append, names=True, links=True) == ToolAnswer()
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "amd-smi\n"
    assert len(warnings) == 1
