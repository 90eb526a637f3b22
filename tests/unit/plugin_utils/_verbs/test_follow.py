# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the head has the run that is followed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import follow
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of

KNOWN: dict[str, dict[str, Any]] = {
    "launch": {"launch__plan": {"plan": {"run_id": RUN_ID, "head": {"node": "node1"}}}},
    "follow": {"launch__run": {"run_id": RUN_ID, "head": "node1"}},
}


def play(verb: str, **answers: dict[str, Any]) -> Play:
    """A play whose head is the second node."""
    return play_of(verb, {node: {**answers.get(node, {}), **KNOWN[verb]} for node in ("node0", "node1")})


@pytest.mark.parametrize("verb", KNOWN)
def test_the_head_of_a_launch_is_that_of_its_plan_and_else_the_chosen_one(verb: str) -> None:
    answers = {node: info(node, "running") for node in ("node0", "node1")}
    assert follow.find_head.conclusion(play(verb, **answers)).result == {"run_dir": "/w1"}


@pytest.mark.parametrize("verb", KNOWN)
@pytest.mark.parametrize(
    "answer",
    [
        info("node1", "not_found")["launch__info"],
        info("node1", "running", run_dir=None)["launch__info"],
        {"unreachable": True, "msg": "no\x1b[2J route"},
        {"failed": True, "msg": "x"},
        {"failed": True, "timedout": {"period": 12}},
        None,
    ],
)
def test_a_head_without_the_run_is_named(verb: str, answer: dict[str, Any] | None) -> None:
    with pytest.raises(UserError) as caught:
        follow.find_head.conclusion(play(verb, node0=info("node0", "running"), node1={"launch__info": answer}))
    lines = str(caught.value).splitlines()
    assert all("node1" in line and line.isprintable() for line in lines)
    assert "node0" not in str(caught.value)
    # Why a head did not answer comes before what a follow needs.
    assert len(lines) == (1 if answer and "run" in answer else 2)
