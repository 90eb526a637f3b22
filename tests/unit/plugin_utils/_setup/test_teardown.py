# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what teardown says."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup.teardown import answer, document, lines


def result(**changes: Any) -> dict[str, Any]:
    return {"removed": [], "kept": [], "engine": None, "failed_on": [], **changes}


RUNS = [{"kind": "run", "name": f"r{number}"} for number in range(8)]
DONE = [
    answer("n1", result(removed=[{"kind": "container", "name": "muster-a-0"}, *RUNS])),
    answer("n2", result(kept=[{"kind": "run", "name": "live", "why": "it is running: stop it first"}])),
    answer("n3", result()),
]
FAILED = [
    answer("n1", {"unreachable": True, "msg": "no\x1b[2J route"}),
    answer("n2", result(failed_on=["run a: Permission denied"], engine="no answer within 15 s")),
    answer("n3", None),
]


def test_per_node_what_went_and_what_stays() -> None:
    shown = "\n".join(lines(DONE, False, 100))
    assert [name in shown for name in ("muster-a-0", "r5", "r6", "live", "n3")] == [True, True, False, True, True]
    assert [answer.failed for answer in DONE] == [False] * 3


def test_nodes_without_an_answer_and_failures() -> None:
    assert [answer.failed for answer in FAILED] == [True] * 3
    assert [error["node"] for error in document(FAILED, False)["errors"]] == ["n1", "n2", "n3"]
