# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of the verb `benchmark`: its files, its document, and results that are wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._verbs import benchmark
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.benchmark_parts import asked
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID, facts_dict, nodes, policy
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

NAMES = ("node0", "node1")


def written(folder: Path, wrong: float = 0.0) -> Path:
    """Write what the ranks have measured of two sizes."""
    line = [1e-3, 9e-4, 2e-3, 8e-4, 3e-3]
    rows = [{"bytes": size, "count": size // 4, "groups": [[*line, wrong]]} for size in (8, 1 << 20)]
    path = folder / RUN_ID / "outputs" / "benchmark.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"groups": [[0, 1]], "torch": "2.13.0", "library": None, "rows": rows}))
    return folder


def play(folder: Path) -> Play:
    plan = make_plan(asked(env={"GLOO_SOCKET_IFNAME": "eth0"}), policy(), nodes(2))
    hosts: dict[str, dict[str, Any]] = {
        name: {
            "launch__plan": {"plan": plan},
            "launch__facts": {"ansible_facts": {"node": facts_dict(number, net__speeds={"eth0": 10000})}},
        }
        for number, name in enumerate(NAMES)
    }
    return play_of("benchmark", hosts, experiments=str(folder), run_id=RUN_ID)


def concluded(folder: Path) -> Conclusion:
    conclusion = benchmark.report.conclusion(play(folder))
    document = documents.document("benchmark", None, None, conclusion.document or {})
    assert schemas.errors(document) == []
    return conclusion


def measured(conclusion: Conclusion) -> dict[str, Any]:
    known: dict[str, Any] = dict(conclusion.document or {})["benchmark"]
    return known


def test_what_is_measured_is_shown_and_kept(tmp_path: Path) -> None:
    conclusion = concluded(written(tmp_path))
    assert conclusion.failure is None
    document = measured(conclusion)
    assert [size["busbw_gb_per_s"] for size in document["sizes"]] == pytest.approx([8e-6, 1.048576])
    # 10 Gb/s between two nodes of one rank each.
    assert document["limit"]["gb_per_s"] == 1.25
    assert document["sizes"][-1]["of_limit"] == pytest.approx(0.8388608)
    assert [(file.path.name, file.is_private) for file in conclusion.files] == [
        ("benchmark.json", True),
        ("benchmark.csv", True),
        ("benchmark.html", True),
    ]
    assert json.loads(conclusion.files[0].text) == document
    assert any(line.startswith("1 MiB") for line in texts(conclusion))


def test_wrong_results_fail_the_verb(tmp_path: Path) -> None:
    conclusion = concluded(written(tmp_path, wrong=3.0))
    assert conclusion.failure is not None and conclusion.is_shown
    assert [size["wrong"] for size in measured(conclusion)["sizes"]] == [3, 3]


def test_earlier_runs_of_the_same_kind_are_compared(tmp_path: Path) -> None:
    first = measured(concluded(written(tmp_path)))
    others = {"first": {}, "second": {"created": "2026-11-21T00:00:00Z"}, "another": {"cluster": "another"}}
    for name, changes in others.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "benchmark.json").write_text(json.dumps({**first, "run_id": name, **changes}))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "benchmark.json").write_text("[")
    page = concluded(tmp_path).files[-1].text
    assert page.index("2026-11-20 14:30") < page.index("2026-11-21 00:00"), "the legend has the newest last"
    assert "GB/s in second" in page
    assert "another" not in page


def test_a_run_that_measured_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no measurements"):
        benchmark.report.conclusion(play(tmp_path))


def test_a_node_without_facts_leaves_the_limit_to_the_others(tmp_path: Path) -> None:
    silent = replace(play(written(tmp_path)), read_answer=lambda host, name: None)
    known = play(tmp_path)
    merged = replace(
        silent,
        read_answer=lambda host, name: (
            None if (host, name) == ("node1", "launch__facts") else known.read_answer(host, name)
        ),
    )
    assert measured(benchmark.report.conclusion(merged))["limit"]["gb_per_s"] == 1.25
