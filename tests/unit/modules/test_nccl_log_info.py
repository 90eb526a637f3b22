# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible runs it: options in, JSON out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.modules import nccl_log_info
from ansible_collections.muster.train.tests.support.modules import run_module
from ansible_collections.muster.train.tests.support.nccl_logs import COMPLETION, FAILED, GOOD


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "logs" / "rank_0.log"
    path.parent.mkdir(parents=True)
    lines = [line for part in GOOD for line in part]
    path.write_text("\n".join([*lines, FAILED + COMPLETION.format(12), ""]), encoding="utf-8")
    return path


def test_the_verdict_and_what_it_was_compared_with(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"paths": [str(log.parent.parent)], "expected": "rdma", "ranks": [0, 1], "_ansible_check_mode": True}
    result = run_module(nccl_log_info, capsys, **options)
    assert (result.get("failed"), result["changed"], result["warnings"]) == (None, False, [])
    shown = result["nccl_log"]
    assert shown["expected"] == {"transport": "rdma", "gdr": None, "hcas": [], "ranks": [0, 1]}
    assert [shown["verdict"][key] for key in ("verdict", "transport", "gdr", "nics")] == ["fail", "rdma", True, 2]
    assert [finding["check"] for finding in shown["verdict"]["findings"]] == ["nccl errors"]
    assert (shown["files"], shown["bytes_read"]) == (1, log.stat().st_size)


def test_paths_below_a_root(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_module(nccl_log_info, capsys, root=str(tmp_path), paths=["/run/logs/rank_0.log", "/gone"])
    shown = result["nccl_log"]
    assert (len(shown["ranks"]), shown["unread"], len(result["warnings"])) == (2, 1, 1)


def test_a_negative_limit_is_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_module(nccl_log_info, capsys, paths=[str(log)], max_bytes=-1)["failed"]


def test_every_key_is_documented(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documented = yaml.safe_load(nccl_log_info.RETURN)["nccl_log"]["contains"]

    def compare(value: Any, contains: dict[str, Any], where: str) -> None:
        assert list(value) == list(contains), where
        for key, item in value.items():
            deeper = contains[key].get("contains")
            if deeper is not None:
                compare(item[0] if isinstance(item, list) else item, deeper, f"{where}.{key}")

    compare(run_module(nccl_log_info, capsys, paths=[str(log)])["nccl_log"], documented, "nccl_log")
