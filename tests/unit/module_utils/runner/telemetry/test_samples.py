# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the file of samples."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner.telemetry.samples import SampleFile


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_appended_to_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    file = SampleFile(str(path))
    assert [file.append({"time": number}) for number in range(3)] == [False] * 3
    assert [line["time"] for line in read(path)] == [0, 1, 2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_file_keeps_the_whole_run_and_its_notes(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    file = SampleFile(str(path), limit=2000)
    thinned = [file.append({"time": number, **({"note": {}} if number == 31 else {})}) for number in range(1000)]
    assert path.stat().st_size <= 2000
    assert sum(thinned) > 3
    times = [line["time"] for line in read(path)]
    assert times[0] == 0
    assert times[-1] == 999
    assert 31 in times
