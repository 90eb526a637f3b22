# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `gpus`."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._verbs import gpus
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.gpu_parts import RUN, gpu_facts, rank
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

UNREACHABLE = {gpus.FACTS: {"unreachable": True, "msg": "Connection refused"}}


def report(**nodes: dict[str, Any]) -> Conclusion:
    return gpus.report.conclusion(play_of("gpus", nodes, {"all": False}))


def registered(facts: dict[str, Any]) -> dict[str, Any]:
    return {gpus.FACTS: {"ansible_facts": facts}}


def test_a_node_is_asked_for_its_gpus_and_for_little_else() -> None:
    options = gpus.gather.options(play_of("gpus", {"n1": {}}, {}, {"launch_workdir": "/w"}), "n1")
    assert options is not None
    assert (options["workdir"], options["subset"]) == ("/w", list(gpus.SUBSET))
    assert {*gpus.SUBSET} <= {*CHOICES}


def test_table_and_document() -> None:
    conclusion = report(n1=registered(gpu_facts([rank(0)], count=2)), n2=registered(gpu_facts(count=0)))
    document = conclusion.document
    assert document is not None
    assert schemas.errors(documents.document("gpus", None, None, document)) == []
    first, second = document["nodes"]
    [process] = first["gpus"][0]["processes"]
    assert (process["run_id"], process["rank"], process["user"], process["pid"]) == (RUN, 0, "ann", 4000)
    assert (first["gpus"][1]["processes"], second["gpus"]) == ([], [])
    assert conclusion.failure is None
    assert texts(conclusion)


def test_a_node_without_an_answer_fails_the_verb_and_the_others_are_shown() -> None:
    conclusion = report(n1=registered(gpu_facts()), n2=UNREACHABLE)
    assert conclusion.document is not None
    assert [(node["answered"], node["gpus"] is None) for node in conclusion.document["nodes"]] == [
        (True, False),
        (False, True),
    ]
    assert conclusion.failure is not None
    assert [record["node"] for record in conclusion.failure.records()] == ["n2"]
    assert texts(conclusion)
    assert report(n2=UNREACHABLE).lines == ()
