# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the names: which library reads which, since when, and what was probably meant."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._nccl import known_variables
from ansible_collections.muster.train.plugins.plugin_utils._nccl.known_variables import fault
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library

NCCL, OLD = Library("nccl", (2, 27, 3)), Library("nccl", (2, 19, 3))
RCCL, OLD_RCCL = Library("rccl", (2, 28, 3)), Library("rccl", (2, 21, 5))
OF_BOTH = [
    *("NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_MIN_CTAS", "NCCL_NVLS_ENABLE", "NCCL_TESTS_DEVICE", "NCCL_VERSION"),
    *("HSA_X", "X"),
]


@pytest.mark.parametrize("name", OF_BOTH)
def test_read_by_both(name: str) -> None:
    assert [fault(name, library) for library in (NCCL, RCCL)] == [None, None]


# What is named instead, if anything.
NOT_READ = [
    ("NCCL_MIN_NCHANELS", NCCL, "NCCL_MIN_NCHANNELS"),
    ("NCCL_IB_GID_IDX", NCCL, "NCCL_IB_GID_INDEX"),
    ("NCCL_SOMETHING_ELSE_ENTIRELY", NCCL, "NCCL"),
    ("NCCL_FOO", NCCL, "NCCL"),
    ("NCCL_DEBUGS", RCCL, "NCCL_DEBUG"),
    ("nccl_debug", NCCL, "NCCL_DEBUG"),
    ("Nccl_Nobody", NCCL, "case-sensitive"),
    ("RCCL_TREES", NCCL, "RCCL"),
    ("RCCL_THREADS_PER_BLOCK", OLD_RCCL, "2.28"),
    ("RCCL_WARP_SPEED_ENABLE", OLD_RCCL, "2.28"),
    ("NCCL_IB_ADDR_FAMILY", OLD, "2.21"),
    ("NCCL_IB_GDR_LEVEL", NCCL, "NCCL_NET_GDR_LEVEL"),
    ("NCCL_ASYNC_ERROR_HANDLING", NCCL, "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
    ("NCCL_TIMEOUT_MS", RCCL, "init_process_group"),
]


@pytest.mark.parametrize(("name", "library", "part"), NOT_READ)
def test_not_read(name: str, library: Library, part: str) -> None:
    assert part in (fault(name, library) or "")


@pytest.mark.parametrize("name", ["NCCL_FOO", "Nccl_Nobody"])
def test_a_name_with_only_the_prefix_in_common_is_not_suggested(name: str) -> None:
    assert "NCCL_" not in (fault(name, NCCL) or "NCCL_")


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
