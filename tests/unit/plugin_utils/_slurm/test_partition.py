# SPDX-License-Identifier: GPL-3.0-or-later
"""Which jobs would wait forever in the partitions that scontrol prints."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._slurm.partition import (
    Partition,
    parse_partitions,
    refusals,
)

LINES = """\
PartitionName=gpu AllowGroups=ALL Default=YES QoS=N/A MaxNodes=UNLIMITED MaxTime=1-00:00:00 State=UP TotalNodes=8
PartitionName=few AllowGroups=ALL Default=NO QoS=N/A MaxNodes=2 MaxTime=UNLIMITED State=UP TotalNodes=8
PartitionName=old AllowGroups=ALL Default=NO QoS=N/A MaxNodes=UNLIMITED MaxTime=UNLIMITED State=DOWN TotalNodes=64
"""
PARTITIONS = [
    Partition("gpu", True, 8, None, 86400),
    Partition("few", False, 8, 2, None),
    Partition("old", False, 64, None, None),
]

REFUSED: list[dict[str, Any]] = [
    {"partition": "gpux"},
    {"partition": "gpu,gpux"},
    {"nnodes": 9},
    {"partition": "few", "nnodes": 3},
    {"time": "1-00:01:00"},
]


def lines(**values: Any) -> list[str]:
    given = {"partition": None, "nnodes": 1, "time": None, "qos": None, **values}
    settings: Any = {name: {"value": value, "origin": f"-e {name}", "layer": "x"} for name, value in given.items()}
    return refusals(PARTITIONS, settings)


def test_partitions_are_read() -> None:
    assert parse_partitions(LINES) == PARTITIONS
    assert parse_partitions("slurm_load_partitions error\nNodeName=x\n") == []


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"nnodes": 8},
        {"time": "1-00:00:00"},
        {"partition": "few", "nnodes": 2, "time": "9-00:00:00"},
        {"partition": "few,gpu", "nnodes": 8},  # one of them is enough
        {"partition": "old"},  # down, which takes jobs that start when it is up again
        {"qos": "long", "time": "2-00:00:00"},  # which may lift the limit of a partition
    ],
)
def test_a_job_that_can_start_is_not_refused(values: dict[str, Any]) -> None:
    assert lines(**values) == []


@pytest.mark.parametrize("values", REFUSED)
def test_a_job_that_can_never_start_is_refused(values: dict[str, Any]) -> None:
    [line] = lines(**values)
    assert line.startswith(f"{[*values][-1]}: ")


def test_without_a_default_partition_slurm_decides() -> None:
    settings: Any = {
        "partition": {"value": None},
        "nnodes": {"value": 99},
        "time": {"value": None},
        "qos": {"value": None},
    }
    assert refusals(PARTITIONS[1:], settings) == []
