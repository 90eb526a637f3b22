# SPDX-License-Identifier: GPL-3.0-or-later
"""What verbs say beside their reports, and why they refuse: tests/screens/messages/verbs.txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action.files import write_text
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.plugins.plugin_utils._verbs import logs, slurm_step, status, stop, wait
from ansible_collections.muster.train.tests.support.following import AWAY, beating
from ansible_collections.muster.train.tests.support.plan_parts import request
from ansible_collections.muster.train.tests.support.reports import info
from ansible_collections.muster.train.tests.support.requests import RUN_ID
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of, refusal
from ansible_collections.muster.train.tests.support.verbs import texts
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs import (
    test_collect,
    test_follow,
    test_follow_screen,
    test_importer,
    test_logs_follow,
    test_plan,
    test_report,
    test_request,
    test_slurm_step,
    test_sweep_reports,
    test_wait,
)


def of_follow() -> Iterator[Message]:
    screen = test_follow_screen
    yield "follow: without a step for long", screen.followed([*screen.NO_STEP, screen.END])
    yield "follow: what only a module can read", screen.hidden()
    yield "follow: interrupted", screen.interrupted(beating(), "running")
    yield "follow: interrupted before anything was read", screen.interrupted([AWAY] * 9, None)[:1]
    yield "follow: a module without an answer", test_follow.asked_in_vain(test_follow.NO_PYTHON)
    for number, (looks, answers, _seconds) in enumerate(test_follow.UNREADABLE[:3]):
        why = [test_follow.unknown_start(looks, answers).result["why"]]
        yield f"follow: nothing can be read, {number}", [*test_follow.unreadable(looks, answers)[0].splitlines(), *why]
    for name, slurm in test_slurm_step.NOT_BEGUN.items():
        yield f"start: a Slurm step, {name}", [refusal(slurm_step.begin.conclusion, slurm.play())]
    yield "start: failed", [str(test_follow.failed_start(answer).failure) for answer in test_follow.FAILED_STARTS]


def of_logs(root: Path) -> Iterator[Message]:
    tests = test_logs_follow
    for name in ("away", "silent", "interrupted"):
        (root / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            printed = tests.capture(patch)
            getattr(tests, f"follow_{name}")(root / name)
        yield f"logs: {name}", printed


def of_requests(root: Path) -> Iterator[Message]:
    yield "request: no verb", [refusal(test_request.checked, verb="lunch")]
    yield "request: an unknown parameter", [refusal(test_request.checked, verb="status", given={"person": "ann"})]
    yield "request: one machine twice", [refusal(test_request.checked, hosts=test_request.SAME)]
    yield "request: no plan", test_request.checked(given={"run_id": RUN_ID}, now=test_request.LATER).warnings
    yield (
        "request: experiments that cannot be written",
        [refusal(test_request.checked, hosts=test_request.in_a_file(root))],
    )
    yield "page: not written", [refusal(write_text, root / "file" / "x", "text", "page", "a file of yours")]
    for name, (asked, hosts, policy, _expected) in test_plan.REFUSED.items():
        yield f"plan: {name}", lines(test_plan.refusal(asked, hosts, **policy))
    yield "plan: of a check", texts(test_plan.planned(request(2), test_plan.answers(2), True))[-1:]
    yield "queue: left", [str(wait.refuse.conclusion(test_wait.LEFT).failure)]
    for node in (test_collect.Node(test_collect.UNPRINTABLE), test_collect.changing()):
        yield f"collect: {min(node.files)}", (test_collect.fetch(node, root / "collected") or {})["warnings"]


def of_reports(root: Path) -> Iterator[Message]:
    reported = test_report.reported
    yield "status: attempts and spares", texts(test_report.with_spare())
    yield "status: a restarted run", texts(reported(status.report, "status", test_report.RESTARTED))
    hosts = {**test_report.going("succeeded"), "node0": info("node0", "stopped")}
    hosts["node0"]["launch__info"]["changed"] = True
    yield "stop: had ended on one node", texts(reported(stop.report, "stop", hosts))
    yield "stop: had ended", texts(reported(stop.report, "stop", test_report.going("succeeded")))
    yield "logs: none", texts(reported(logs.report, "logs", test_report.NOBODY, test_report.LOGS))
    yield "import: runs, a sweep and something else", test_importer.imported_lines(root)
    yield "launch: not started", texts(test_report.not_started())
    yield "report: two sweeps over other parameters", [refusal(test_sweep_reports.report_others, root)]
    yield "report: runs of the list", test_sweep_reports.lines_of_selection(root)
    yield "report: by a number that no run has", [refusal(test_sweep_reports.compare_by_a_misspelling, root)]


def test_what_verbs_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    messages = [*of_follow(), *of_logs(tmp_path), *of_requests(tmp_path), *of_reports(tmp_path)]
    text = page_of(messages).replace(str(tmp_path), "/home/ann")
    assert text == kept("messages/verbs.txt", text)
