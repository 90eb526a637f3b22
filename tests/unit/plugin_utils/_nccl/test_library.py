# SPDX-License-Identifier: GPL-3.0-or-later
"""Which library the ranks load, and which version of it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library, library_of, numbers
from ansible_collections.muster.train.tests.support.plan_parts import facts

NVIDIA, AMD, NONE = Gpu("nvidia", 8), Gpu("amd", 8), Gpu(None, 0)
WHEEL = "/v/lib/python3.11/site-packages/nvidia_nccl_cu12-2.21.5.dist-info"
VERSION = "/v/lib/python3.11/site-packages/torch/version.py"
HEADER = "/opt/rocm/include/rccl/rccl.h"


@pytest.mark.parametrize(
    ("versions", "gpu", "library"),
    [
        ({"torch_cuda": "12.4", "nccl": "2.21.5", "sources": {"nccl": WHEEL}}, NVIDIA, ("nccl", (2, 21, 5), WHEEL)),
        ({"nccl": "2.21.5", "sources": {"nccl": WHEEL}}, None, ("nccl", (2, 21, 5), WHEEL)),
        ({"torch_cuda": "12.4"}, NVIDIA, ("nccl", None, "")),
        ({"rccl": "2.20.5", "sources": {"rccl": HEADER}}, AMD, ("rccl", (2, 20, 5), HEADER)),
        ({"rocm": "6.3.1-48", "sources": {"rocm": "/r"}}, AMD, ("rccl", (2, 21, 5), "/r: ROCm 6.3")),
        # What torch was built for decides, not which GPUs are there.
        (
            {"torch_hip": "6.2.41133-dd7f95766", "rocm": "6.4.0", "nccl": "2.21.5", "sources": {"torch_hip": VERSION}},
            NVIDIA,
            ("rccl", (2, 20, 5), f"{VERSION}: ROCm 6.2"),
        ),
        ({"torch_cuda": "12.4", "rccl": "2.20.5", "nccl": "2.26.2"}, AMD, ("nccl", (2, 26, 2), "")),
        ({"torch_hip": "9.9.0"}, AMD, ("rccl", None, "")),
        ({"nccl": "unknown"}, NVIDIA, ("nccl", None, "")),
        (None, AMD, ("rccl", None, "")),
        (None, NONE, ("nccl", None, "")),
        (None, None, ("nccl", None, "")),
    ],
)
def test_library(versions: dict[str, Any] | None, gpu: Gpu | None, library: tuple[Any, ...]) -> None:
    assert library_of(facts(0, versions=versions), gpu) == Library(*library)


@pytest.mark.parametrize(
    ("version", "parts"),
    [("2.21.5+cuda12.4", (2, 21, 5)), ("2.17.1-1", (2, 17, 1)), ("2", (2,)), ("v2", None), ("", None), (None, None)],
)
def test_numbers(version: str | None, parts: tuple[int, ...] | None) -> None:
    assert numbers(version) == parts
