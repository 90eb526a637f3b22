# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the names: which library reads which, since when, and what was probably meant."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._nccl import known_variables
from ansible_collections.muster.train.plugins.plugin_utils._nccl.known_variables import fault
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library

NCCL, RCCL, OLD, OLD_RCCL = (
    Library("nccl", (2, 27, 3)),
    Library("rccl", (2, 28, 3)),
    Library("nccl", (2, 19, 3)),
    Library("rccl", (2, 21, 5)),
)


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_DEBUG",
        "NCCL_IB_HCA",
        "NCCL_MIN_CTAS",
        "NCCL_NVLS_ENABLE",
        "NCCL_TESTS_DEVICE",
        "NCCL_VERSION",
        "HSA_X",
        "X",
    ],
)
def test_read_by_both(name: str) -> None:
    assert [fault(name, library) for library in (NCCL, RCCL)] == [None, None]


@pytest.mark.parametrize(
    ("name", "library", "part"),
    [
        ("NCCL_MIN_NCHANELS", NCCL, "did you mean NCCL_MIN_NCHANNELS?"),
        ("NCCL_IB_GID_IDX", NCCL, "did you mean NCCL_IB_GID_INDEX?"),
        ("NCCL_SOMETHING_ELSE_ENTIRELY", NCCL, "no version of NCCL reads it"),
        ("RCCL_TREES", NCCL, "only RCCL reads it"),
        ("RCCL_THREADS_PER_BLOCK", OLD_RCCL, "RCCL reads it from 2.28 on"),
        ("RCCL_WARP_SPEED_ENABLE", OLD_RCCL, "RCCL reads it from 2.28 on"),
        ("NCCL_IB_ADDR_FAMILY", OLD, "NCCL reads it from 2.21 on"),
        ("NCCL_IB_GDR_LEVEL", NCCL, "NCCL_NET_GDR_LEVEL"),
        ("NCCL_ASYNC_ERROR_HANDLING", NCCL, "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("NCCL_TIMEOUT_MS", RCCL, "init_process_group"),
    ],
)
def test_not_read(name: str, library: Library, part: str) -> None:
    assert part in (fault(name, library) or "")


def test_a_name_with_only_the_prefix_in_common_is_not_suggested() -> None:
    assert fault("NCCL_FOO", NCCL) == "no version of NCCL reads it"
    assert fault("NCCL_DEBUGS", RCCL) == "no version of RCCL reads it; did you mean NCCL_DEBUG?"


def test_names_in_lower_case_are_unknown() -> None:
    assert "did you mean NCCL_DEBUG?" in (fault("nccl_debug", NCCL) or "")
    assert "did you mean" not in (fault("Nccl_Nobody", NCCL) or "did you mean")


@pytest.mark.parametrize(
    ("name", "library"),
    [("RCCL_THREADS_PER_BLOCK", RCCL), ("RCCL_THREADS_PER_BLOCK", Library("rccl", None)), ("RCCL_TREES", OLD_RCCL)],
)
def test_read_by_rccl(name: str, library: Library) -> None:
    assert fault(name, library) is None


def test_every_name_is_listed_once() -> None:
    for table in (known_variables.NCCL, known_variables.RCCL):
        names = [name for names in table.values() for name in names.split()]
        assert sorted(names) == sorted(set(names))
        assert not [name for name in names if name.startswith(("NCCL_", "RCCL_"))]
