# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of runs, of nodes without an answer and of experiments: tests/screens/messages/results.txt."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import judge as judge_hang
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line
from ansible_collections.muster.train.plugins.plugin_utils._results import (
    comparison_text,
    events,
    experiment,
    hangs,
    report,
    stacks,
    summary,
    unanswered,
    uncollected,
    verdict,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.comparison import compare
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos, runs_of
from ansible_collections.muster.train.plugins.plugin_utils._results.progress import pace_text, progress_line
from ansible_collections.muster.train.plugins.plugin_utils._results.rank_place import node_of
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import claimed
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures import text
from ansible_collections.muster.train.plugins.plugin_utils._results.slot_queue import Queue, queue_lines
from ansible_collections.muster.train.plugins.plugin_utils._results.transports import texts_of
from ansible_collections.muster.train.tests.support.screens import Message, errors, kept, page_of, refusal
from ansible_collections.muster.train.tests.unit.module_utils._records import test_hang
from ansible_collections.muster.train.tests.unit.plugin_utils._results import (
    test_blocking_ranks,
    test_causes,
    test_comparison,
    test_events,
    test_experiment,
    test_experiment_list,
    test_gathered,
    test_grep,
    test_log_stream,
    test_pick,
    test_progress,
    test_rank_place,
    test_ranks,
    test_removed_nodes,
    test_report,
    test_rows,
    test_slot_queue,
    test_stacks,
    test_transports,
    test_unanswered,
    test_uncollected,
    test_verdict,
)
from ansible_collections.muster.train.tests.unit.plugin_utils._results.signatures import test_diagnosis

WIDTH = 120


def named(cases: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """The lines of cases, with the name of each beside its first line."""
    return [f"{text}  # {name}" if at == 0 else text for name, texts in cases for at, text in enumerate(texts)]


def of_causes() -> Iterator[Message]:
    runs = {name: test_causes.ordered(runs)[0] for name, (runs, _place) in test_causes.CASES.items()}
    yield "cause", named((name, [failure.text]) for name, failure in runs.items())
    yield "cause: memory", [failure.what for failure in test_causes.failures_of(test_causes.OF_MEMORY)]
    awaited = (
        test_blocking_ranks.cause_of(*runs) for runs in (test_blocking_ranks.EXITED, test_blocking_ranks.HANGING)
    )
    yield "cause: ranks that the others waited for", [failure.text for failure in awaited if failure]
    verdicts = {name: test_verdict.judge(runs) for name, (runs, *_fields) in test_verdict.CASES.items()}
    verdicts["ranks that never met"] = test_blocking_ranks.judge(*test_blocking_ranks.ALONE)
    for phase in ("succeeded", "failed"):
        verdicts[f"{phase} on a full disk"] = verdict.judge([test_events.full("node0", phase)])
    texts = (
        (name, [item.why, *(f"  {text}" for text in item.consequences)]) for name, item in verdicts.items() if item.why
    )
    yield "verdict", named(texts)
    yield "attempts", events.attempt_lines(test_events.ENDED)
    disks = [events.disk_text([test_events.full(f"n{number}") for number in range(count)]) for count in (2, 5, 9)]
    yield "disks of several nodes", map(str, disks)


def of_reports() -> Iterator[Message]:
    for name, runs in test_report.RUNS.items():
        judged = verdict.judge(runs)
        summed = report.summary("r", judged, runs)
        yield f"run: {name}", [summed, *report.explanation(judged)[:10], *report.status_table(runs, WIDTH)]
    yield "run: on many nodes", report.status_table(test_rows.cluster(128), WIDTH)
    yield "run: on many nodes that all differ", report.status_table(test_rows.ALL_DIFFER, WIDTH)[-3:]
    outside = test_removed_nodes.INFOS
    yield "run: on nodes outside", report.status_table(runs_of(outside), WIDTH, outside=["n1", "n2"])
    yield "doctor", text.lines(test_diagnosis.diagnoses(), WIDTH)
    yield "run: none", [report.summary(None, verdict.judge([]), [])]
    yield "run: more nodes", [" ".join(report.places([test_report.run("n", "failed")] * 6, None)[-1])]
    sizes = [test_report.RUNS[name] for name in ("a success", "one rank", "ranks that a program starts")]
    yield "no such rank", [str(report.no_such_rank(runs, {"value": 9, "origin": "-e rank"})) for runs in sizes]
    started = ((name, test_report.not_started(name)) for name in test_report.NOT_STARTED)
    yield "not started", named((name, lines or [why]) for name, (why, lines) in started)
    yield "line", named((name, [progress_line(*samples)]) for name, samples in test_progress.LINES.items())
    yield "fabric", named((name, texts_of(verdict)) for name, verdict in test_transports.VERDICTS.items())
    yield "pace", [f"{pace_text(pace)}  # {[*vars(pace).values()]}" for pace in test_progress.PACES]


def of_answers() -> Iterator[Message]:
    answers = {str(reason["msg"]): read_infos([("node9", reason)]) for reason in test_unanswered.REASONS}
    answers["a node that is not in the inventory"] = test_removed_nodes.INFOS[-1:]
    reasons = (
        (f"{name!r:.60}", [*unanswered.lines(infos), f"  {infos[0].run.why}"]) for name, infos in answers.items()
    )
    yield "silent", named(reasons)
    for infos in (test_unanswered.SAME, test_unanswered.MANY):
        yield f"silent: {len(infos)} nodes", unanswered.lines(infos)
    refused = (test_unanswered.KEPT_OUT, test_unanswered.ITS_OWN)
    yield "kept out", [text for infos in refused for text in unanswered.lines(infos)]
    texts = ((name, str(test_pick.refusal(*case)).splitlines()) for name, case in test_pick.REFUSED.items())
    yield "no run", named(texts)
    queues = [Queue("n1", "gpu", answer) for answer in test_slot_queue.ANSWERS]
    yield "queue", [*(queue.text() for queue in queues), queues[0].text(7199)]
    ends = (test_slot_queue.HELD, test_slot_queue.WAITING, test_slot_queue.SILENT)
    yield "queue: its end", [line(test_slot_queue.finding(answer)) for answer in ends]
    yield "launches that wait", queue_lines(test_slot_queue.INFOS)
    yield "a command without a report", test_gathered.messages(test_gathered.gathered("status").end(failed=True))
    many = test_uncollected.MANY
    stay = (uncollected.lines(test_uncollected.INFOS), uncollected.lines(many)[-1:], uncollected.lines(many[:5])[-1:])
    yield "outputs that stay", [text for texts in stay for text in texts]


def of_ranks(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Message]:
    claims = [words for claim in test_ranks.CLAIMS if (words := test_ranks.claim(*claim[:3])[1])]
    yield "ranks: refused", [*claims, str(test_ranks.claim(test_ranks.SPARE, 0, 4, by_plan=False)[1])]
    twins = claimed(test_ranks.TWINS, test_ranks.RUN_ID, [])[1]
    yield "ranks: refused to several", [*twins, *test_ranks.claims_of(test_ranks.ODD[0])[1]]
    yield "ranks: not placed", [refusal(node_of, *arguments) for arguments in test_rank_place.UNPLACED]
    for name, infos in (("a hang", test_stacks.hang()), ("without some ranks", test_stacks.SILENT)):
        yield f"stacks: {name}", stacks.lines_of(stacks.stacks_of(infos), WIDTH)
    for name, looks in test_hang.CASES.items():
        yield (
            f"hang: {name}",
            [hangs.text_of(dataclasses.replace(judge_hang(looks), silent_s=121.0, at="2026-11-20T14:42:53Z"))],
        )
    text = stacks.text_of(stacks.stacks_of(test_stacks.hang())[2], "r", "2026-11-20T14:30:52Z")
    yield "stacks: of one rank", text.splitlines()
    yield "log: too much at once", test_log_stream.overflow(folder)[1][:1]
    yield "log: a slow pattern", [refusal(test_grep.search, monkeypatch)]


def of_experiments() -> Iterator[Message]:
    listed = test_experiment_list
    yield "run.yml: refused", errors(experiment.load, test_experiment.INVALID)
    yield "run.yml: in the list", [summary.summarize("name", text).problem for text in listed.UNREADABLE]
    names = (refusal(summary.select, listed.RUNS, [], *unknown, None) for unknown in listed.UNKNOWN_NAMES)
    yield "list: no such name", names


def of_comparisons() -> Iterator[Message]:
    for name, runs in test_comparison.CASES.items():
        yield f"compare: {name}", comparison_text.lines(compare(runs), 100)


def test_what_is_said_of_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [*of_causes(), *of_reports(), *of_answers(), *of_ranks(monkeypatch, tmp_path), *of_experiments()]
    messages += of_comparisons()
    # What libyaml says is not what PyYAML says where it is not installed.
    page = re.sub("not YAML: .*", "not YAML: …", page_of(messages))
    assert page == kept("messages/results.txt", page)
