# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of torch's flight recorder, by the version of torch and by what the ranks have already."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._plan.recorder import variables

OLD = {"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}
NEW = {"TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE"}
BOTH = "TORCH_NCCL_DUMP_ON_TIMEOUT"


def given(torch: str | None, *names: str) -> dict[str, str]:
    items = variables("/runs/r", torch, names)
    assert all(item.fills_gap for item in items)
    return {item.name: item.value for item in items}


@pytest.mark.parametrize(
    ("torch", "names"),
    [
        *((version, OLD) for version in ("2.4.1", "2.8.0+cu128", "1.13", None, "nightly")),
        *((version, NEW) for version in ("2.9.0", "2.13.0+cpu", "3.0")),
    ],
)
def test_names_by_version(torch: str | None, names: set[str]) -> None:
    assert set(given(torch)) == names | {BOTH}


def test_values() -> None:
    wanted = {"TORCH_FR_BUFFER_SIZE": "2000", BOTH: "1", "TORCH_FR_DUMP_TEMP_FILE": "/runs/r/hangs/nccl_trace_rank_"}
    assert given("2.9") == wanted


@pytest.mark.parametrize("torch", ["2.8", "2.9"])
def test_what_the_ranks_have_by_either_name_stays(torch: str) -> None:
    assert set(given(torch, *OLD)) == set(given(torch, *NEW)) == {BOTH}
    assert BOTH not in given(torch, BOTH)
