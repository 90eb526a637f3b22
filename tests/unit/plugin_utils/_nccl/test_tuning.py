# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D6: channels and threads for either library, and numbers that it cuts down."""

from __future__ import annotations

from typing import Literal

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_DEFAULTS, Layer, Origin
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import Library
from ansible_collections.muster.train.plugins.plugin_utils._nccl.tuning import limit_findings, variables
from ansible_collections.muster.train.tests.support.plan_parts import settings


@pytest.mark.parametrize("library", ["nccl", "rccl"])
def test_parameters_that_are_not_set_decide_nothing(library: Literal["nccl", "rccl"]) -> None:
    assert variables(settings(), Library(library, None)) == []


@pytest.mark.parametrize("origin", [Origin(Layer.EXTRA_VARS, "-e channels"), LAUNCH_DEFAULTS])
def test_channels_are_the_least_and_the_most(origin: Origin) -> None:
    layer = variables(settings(channels={"value": 42, **origin.to_dict()}), Library("nccl", None))
    assert [(variable.name, variable.value, variable.origin, variable.rule) for variable in layer] == [
        ("NCCL_MIN_NCHANNELS", "42", origin.label, "D6"),
        ("NCCL_MAX_NCHANNELS", "42", origin.label, "D6"),
    ]


@pytest.mark.parametrize(
    ("library", "names"),
    [
        (Library("nccl", (2, 27, 3)), {"NCCL_NTHREADS"}),
        (Library("rccl", (2, 21, 5)), {"NCCL_NTHREADS"}),
        (Library("rccl", (2, 28, 3)), {"NCCL_NTHREADS", "RCCL_THREADS_PER_BLOCK"}),
        (Library("rccl", None), {"NCCL_NTHREADS", "RCCL_THREADS_PER_BLOCK"}),
    ],
)
def test_threads(library: Library, names: set[str]) -> None:
    layer = variables(settings(threads=256), library)
    assert {variable.name: (variable.value, variable.origin) for variable in layer} == dict.fromkeys(
        names, ("256", "-e threads")
    )


LIMITS = [
    ("channels", 64, Library("nccl", None), False),
    ("channels", 65, Library("nccl", None), True),
    ("channels", 64, Library("nccl", (2, 25)), False),
    ("channels", 33, Library("nccl", (2, 24, 3)), True),
    ("channels", 32, Library("nccl", (2, 24, 3)), False),
    ("channels", 128, Library("rccl", (2, 21, 5)), False),
    ("channels", 129, Library("rccl", None), True),
    ("threads", 512, Library("nccl", None), False),
    ("threads", 1024, Library("nccl", None), True),
    ("threads", 192, Library("nccl", None), True),
    ("threads", 192, Library("rccl", None), False),
    ("threads", 256, Library("rccl", None), False),
    ("threads", 320, Library("rccl", None), True),
    ("threads", 100, Library("rccl", None), True),
]


@pytest.mark.parametrize(("name", "value", "library", "warned"), LIMITS)
def test_numbers_that_a_library_does_not_take(name: str, value: int, library: Library, warned: bool) -> None:
    findings = limit_findings(settings(**{name: value}), library, "node0")
    assert [(finding.node, finding.status, finding.observed) for finding in findings] == [
        ("node0", "warn", f"{name}={value}")
    ] * warned
