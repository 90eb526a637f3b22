# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents of runs as data, their text, and the page that describes them."""

from __future__ import annotations

import json
import math

from jsonschema import Draft202012Validator

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.plugin_utils._results.documents import (
    SampleLines,
    document,
    of_logs,
    of_run,
    text,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos, runs_of
from ansible_collections.muster.train.plugins.plugin_utils._results.progress import Sample
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.tests.support import documents

ANSWERS = [
    ("node0", {"run": {"run_id": "r", "phase": "running", "node_rank": 0, "nproc": 2, "world_size": 4, "attempt": 1}}),
    ("node1", {"unreachable": True, "msg": "Task failed: no route"}),
]


def test_a_run_with_a_node_that_does_not_answer() -> None:
    infos = read_infos(ANSWERS)
    described = document("status", None, None, of_run("r", infos, judge(runs_of(infos))))
    assert documents.errors(described) == []
    assert described["world_size"] == 4
    assert [(node["answered"], node["attempt"]) for node in described["nodes"]] == [(True, 2), (False, None)]
    (error,) = described["errors"]
    assert (error["node"], error["observed"]) == ("node1", "no route")


def test_a_number_that_json_does_not_have_is_null() -> None:
    infos = read_infos([("node0", {"run": {"phase": "running", "progress": {"loss": math.nan, "step": 3}}})])
    described = json.loads(text(document("status", None, None, of_run("r", infos))))
    assert described["nodes"][0]["progress"]["loss"] is None
    assert described["nodes"][0]["progress"]["step"] == 3
    assert "\n" not in text(described, lines=True)


def test_log_lines_of_one_rank_by_time() -> None:
    log = [
        {"time": f"2026-11-20T14:30:5{second}Z", "node": "node0", "rank": second % 2, "text": ""}
        for second in (3, 1, 2)
    ]
    infos = read_infos([("node0", {"run": {"phase": "running"}, "log": log})])
    described = document("logs", None, None, of_logs("r", infos, 50, None, 1))
    assert documents.errors(described) == []
    assert [line["time"][-3:] for line in described["lines"]] == ["51Z", "53Z"]
    assert len(of_logs("r", infos, 2, None, None)["lines"]) == 2


def test_a_sample_for_each_change_and_for_the_end() -> None:
    now = [0.0]
    lines = SampleLines("r", lambda: now[0])
    first = Sample("running", 1, 0.0, Progress(step=1.0, total_steps=10.0))
    printed = lines.next_line(first, first)
    assert printed
    assert documents.errors(json.loads(printed)) == []
    now[0] = 0.5
    second = Sample("running", 2, 0.5, Progress(step=2.0, total_steps=10.0))
    assert lines.next_line(first, second) is None, "one a second"
    now[0] = 1.0
    assert json.loads(lines.next_line(first, second) or "")["eta_s"] == 4.0
    now[0] = 9.0
    assert lines.next_line(first, Sample("running", 3, 9.0, second.progress)) is None, "no news"
    now[0] = 9.1
    assert lines.next_line(first, Sample("running", 4, 9.1, Progress(step=3.0)))
    assert lines.next_line(first, Sample("succeeded", 4, 9.1, Progress(step=3.0))), "the end is never left out"


def test_the_schemas_are_schemas_and_describe_every_key() -> None:
    for name in documents.names():
        schema = documents.schema(name)
        Draft202012Validator.check_schema(schema)
        for part in [schema, *schema["$defs"].values()]:
            assert part["description"]
            assert part["required"] == list(part["properties"])
            assert all(value.get("description") or "$ref" in value for value in part["properties"].values())


def test_the_page_has_the_tables_of_the_schemas() -> None:
    assert documents.PAGE.read_text(encoding="utf-8").endswith(f"{documents.BEGIN}\n{documents.tables()}")
