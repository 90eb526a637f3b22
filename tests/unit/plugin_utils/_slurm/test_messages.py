# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of allocations: tests/screens/messages/slurm.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._slurm.host_list import expand_host_list
from ansible_collections.muster.train.plugins.plugin_utils._slurm.job import SlurmJob
from ansible_collections.muster.train.plugins.plugin_utils._slurm.queue import FIXES, describe_wait
from ansible_collections.muster.train.tests.support.screens import Message, errors, kept, page_of, refusal
from ansible_collections.muster.train.tests.unit.plugin_utils._slurm import (
    test_allocation,
    test_host_list,
    test_partition,
)


def messages() -> Iterator[Message]:
    yield "lists of hosts", errors(expand_host_list, test_host_list.REFUSED)
    for name, case in test_allocation.CASES.items():
        yield name, [refusal(case)]
    yield "outside of an allocation", [str(test_allocation.allocation(test_allocation.RUNNING).note)]
    for values in test_partition.REFUSED:
        yield f"a job that can never start: {' '.join(map(str, values.values()))}", test_partition.lines(**values)
    for reason in FIXES:
        job = SlurmJob("8", "PENDING", reason, "", None, None, "train")
        yield f"a job that waits forever: {reason}", [describe_wait(job)]
    for queue in test_allocation.WAITS:
        waiting = test_allocation.allocation(queue, job_id="8")
        yield f"a job that waits: {' '.join(queue.split('|')[1:3])}", [str(waiting.note)]


def test_messages() -> None:
    page = page_of(messages())
    assert kept("messages/slurm.txt", page) == page
