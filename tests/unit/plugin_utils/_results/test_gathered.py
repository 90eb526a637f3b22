# SPDX-License-Identifier: GPL-3.0-or-later
"""The document of a command, from the results of its tasks: each verb's is what its schema describes from the start."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import error_record
from ansible_collections.muster.train.plugins.plugin_utils._results.documents import KEYS
from ansible_collections.muster.train.plugins.plugin_utils._results.gathered import GatheredDocument
from ansible_collections.muster.train.tests.support import documents

REFUSED = {"msg": "Task failed: no route", "failed": True}


def gathered(verb: str) -> GatheredDocument:
    document = GatheredDocument()
    document.begin_play(verb)
    document.begin_play(None)
    return document


def messages(document: dict[str, Any]) -> list[str]:
    return [error["message"] for error in document["errors"]]


@pytest.mark.parametrize("verb", KEYS)
def test_a_verb_that_ended_at_once(verb: str) -> None:
    document = gathered(verb).end(failed=True)
    assert documents.errors(document) == []
    assert len(document["errors"]) == 1
    assert gathered(verb).end(failed=False)["errors"] == []


def test_a_launch_that_was_interrupted_names_the_run_that_may_go_on() -> None:
    document = gathered("benchmark")
    document.add_result("localhost", "Check", {"request": {"run_id": "r"}})
    assert document.end(failed=True)["run_id"] == "r"
    document.add_failure("node1", "Gather", REFUSED)
    assert document.end(failed=True)["run_id"] is None


def test_every_verb_has_a_schema() -> None:
    assert sorted([*KEYS, documents.SAMPLE]) == documents.names()


def test_failures_of_other_tasks_are_named_by_node_and_task() -> None:
    document = gathered("status")
    document.add_failure("node1", "Read the run on every node", REFUSED)
    (error,) = document.end(failed=True)["errors"]
    assert (error["node"], error["check"], error["observed"]) == ("node1", "Read the run on every node", "no route")
    assert error["message"] == "node1: Read the run on every node: no route"


def test_what_a_later_task_knows_of_all_nodes_replaces_the_earlier() -> None:
    document = gathered("launch")
    document.add_result("localhost", "Check", {"request": {"created": "2026-11-20T14:30:52Z", "command": "c"}})
    document.add_result("node0", "Report the next commands", {"verb_document": {"run_id": "r", "verdict": None}})
    document.add_failure("node1", "Start the job", REFUSED)
    reported = {"verb_document": {"run_id": "r", "errors": [error_record("r did not start", "node1")]}}
    document.add_failure("node0", "Report which nodes failed to start", reported)
    ended = document.end(failed=True)
    assert (ended["created"], ended["command"], ended["run_id"]) == ("2026-11-20T14:30:52Z", "c", "r")
    assert messages(ended) == ["r did not start"]


def test_a_setup_names_changes_and_has_the_preflight_in_it() -> None:
    document = gathered("setup")
    document.add_result("node1", "Write the limits", {"changed": True})
    document.add_result("node1", "Read the limits", {"changed": False})
    document.begin_play("preflight")
    assert document.end(failed=False)["preflight"] is None
    document.add_result("node0", "Check the cluster", {"verb_document": {"code": 0, "errors": []}})
    ended = document.end(failed=False)
    assert documents.errors(ended) == []
    assert (ended["verb"], ended["changes"]) == ("setup", {"node1": ["Write the limits"]})
    assert ended["preflight"]["code"] == 0


def test_a_node_that_was_not_reached_has_its_remedy() -> None:
    document = GatheredDocument()
    document.begin_play("setup")
    message = "ssh: connect to host n1 port 22: Connection refused"
    document.add_failure("n1", "code: Copy the code", {"unreachable": True, "msg": message})
    (error,) = document.end(failed=True)["errors"]
    assert (error["node"], error["check"], error["observed"]) == ("n1", "answer", message)
    assert error["remedy"]
