# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's partitions, and which jobs would wait in them forever: Slurm itself takes such jobs by default."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.errors import display
from .._request.settings import Setting
from .._request.slurm_values import format_time, seconds_of_time
from .._text.table import names

# With the hidden ones, which users of some groups may take.
ASK = ("scontrol", "--all", "show", "partition", "--oneliner")
_FIELD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")


@frozen
class Partition:
    """A partition as scontrol prints it; most_nodes of a job, and most_s, its time, are None without a limit."""

    name: str
    is_default: bool
    nodes: int
    most_nodes: int | None
    most_s: int | None


def parse_partitions(text: str) -> list[Partition]:
    """Return the partitions, from scontrol show partition --oneliner; what is not such a line is left out."""
    partitions = []
    for line in text.splitlines():
        fields = dict(_FIELD.findall(line))
        if "PartitionName" in fields:
            partitions.append(
                Partition(
                    name=fields["PartitionName"],
                    is_default=fields.get("Default") == "YES",
                    nodes=_number(fields.get("TotalNodes", "")) or 0,
                    most_nodes=_number(fields.get("MaxNodes", "")),
                    most_s=seconds_of_time(fields.get("MaxTime", "")),
                )
            )
    return partitions


def refusals(partitions: Sequence[Partition], settings: Mapping[str, Setting]) -> list[str]:
    """Return a line for each reason for which a job with these settings would never start in any of its partitions."""
    known = names([partition.name for partition in partitions], most=16)
    setting = settings["partition"]
    if setting["value"] is None:
        chosen = [partition for partition in partitions if partition.is_default]
        if not chosen:  # Slurm has a word to say
            return []
    else:
        wanted = str(setting["value"]).split(",")
        chosen = [partition for partition in partitions if partition.name in wanted]
        unknown = [name for name in wanted if name not in {partition.name for partition in partitions}]
        if unknown:
            return [
                f"partition: expected one of {known}, saw {display(','.join(unknown))} ({setting['origin']}); "
                "correct it, or see sinfo"
            ]
    if settings["qos"]["value"] is not None:  # which may lift the limits of a partition
        return []
    nodes = settings["nnodes"]
    count = int(str(nodes["value"]))
    lines = _over_all(
        chosen,
        lambda partition: count <= _most_nodes(partition),
        lambda partition: (
            f"nnodes: expected at most {_most_nodes(partition)}, which the partition {partition.name} "
            f"{'gives a job' if _most_nodes(partition) < partition.nodes else 'has'}, saw {count} ({nodes['origin']}); "
            "give fewer, or another partition"
        ),
    )
    time = settings["time"]
    seconds = seconds_of_time(str(time["value"]))
    lines += _over_all(
        chosen,
        lambda partition: seconds is None or partition.most_s is None or seconds <= partition.most_s,
        lambda partition: (
            f"time: expected at most {format_time(partition.most_s or 0)}, which the partition "
            f"{partition.name} gives a job, saw {time['value']} ({time['origin']}); give less, or another partition"
        ),
    )
    return lines


def _over_all(
    chosen: Sequence[Partition], fits: Callable[[Partition], bool], describe: Callable[[Partition], str]
) -> list[str]:
    """Return what is wrong with the first partition, where none fits."""
    return [] if any(map(fits, chosen)) else [describe(chosen[0])]


def _most_nodes(partition: Partition) -> int:
    return min(partition.nodes, partition.most_nodes if partition.most_nodes is not None else partition.nodes)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
