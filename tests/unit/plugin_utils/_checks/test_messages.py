# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks say in every case that their tests have: tests/screens/messages/checks.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import Report, render, verdict
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import BAD, lines
from ansible_collections.muster.train.tests.support.faults import Fault
from ansible_collections.muster.train.tests.support.preflight_parts import report
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._checks import (
    test_agree,
    test_code,
    test_faults,
    test_good,
    test_gpu_findings,
    test_gpu_processes,
    test_held_slot,
    test_launch,
    test_report,
)

WIDTH = 100
CASES = {
    "agreement": test_agree.CASES,
    "code": test_code.CASES,
    "entries": test_good.CASES,
    "GPUs": test_gpu_findings.CASES,
    "processes": test_gpu_processes.CASES,
    "slot": test_held_slot.CASES,
    "launch": test_launch.CASES,
    "policy": test_report.INVALID,
    "answer": test_report.SILENT,
}


def of_fault(fault: Fault) -> Message:
    """What the check that finds a fault says of it; the others are off, which takes half of the time."""
    others = dict.fromkeys((name for name in NAMES if name != fault.check), "off")
    changes = [fault.change] if fault.change else []
    result = report(fault.machine, *changes, tree=fault.tree, **{"levels": others, **fault.options()})
    return f"fault: {fault.what}", lines(finding for finding in result.findings if finding.status in BAD)


def shown(result: Report) -> list[str]:
    """A report as preflight prints it."""
    return [*render(result, WIDTH), verdict(result)]


def messages() -> Iterator[Message]:
    yield from map(of_fault, test_faults.FAULTS)
    for subject, cases in CASES.items():
        yield from ((f"{subject}: {case.name}", lines(case.find())) for case in cases)
    yield "code: its state as the table has it", [str(state) for state in test_code.STATES if state]
    policy, _refused = read_checks({"preflight_clock_fail": "100"})
    yield "policy: the source of a threshold", [policy.source("clock_fail"), policy.source("clock_warn")]
    for limit in ("64KiB", "65536", "64GiB", "unlimited"):
        yield f"memlock: {limit} is expected", lines(test_report.memlock(limit))
    yield "memlock: in a Slurm job", lines(test_report.memlock("unlimited", "12"))
    yield "memlock: in a pod", lines(test_report.memlock("unlimited", container="kubernetes"))
    yield "memlock: in a pod of root", lines(test_report.memlock("unlimited", container="kubernetes", uid=0))
    yield "report: a silent node", shown(report("laptop", silent=test_report.SILENCES["its key is not known"]))
    yield "report: equal kernel messages are counted", shown(report("dgx_h100_ib", test_report.gone))
    yield "report: one driver differs", shown(report("dgx_h100_ib", test_report.other_driver))
    yield "report: an engine that does not answer", shown(test_report.closed_engine())
    yield "report: another image", shown(test_report.other_image())
    yield "report: a disk that is full on all nodes", shown(report("laptop", both=test_report.full_disk))
    yield "report: disks of which each is full", shown(report("laptop", both=test_report.fuller_disk))


def test_what_the_checks_say() -> None:
    text = page_of(messages())
    assert text == kept("messages/checks.txt", text)
