# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role memlock takes for a limit, for a configuration of the engine, and for a proof."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.memory_limit import parse_limit, say
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock import verdict
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock_engine import merge_engine
from ansible_collections.muster.train.tests.support.memlock_parts import ENGINE, LOGIN, MIB, engine, node, planned
from ansible_collections.muster.train.tests.support.screens import errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [("unlimited", -1), ("infinity", -1), (-1, -1), ("-1", -1), ("64GiB", 2**36), ("64g", 2**36), (8388608, 8388608)],
)
def test_limits(text: object, expected: int) -> None:
    assert parse_limit(text) == expected


LIMIT = {"Name": "memlock", "Hard": -1, "Soft": -1}
NO_LIMITS = ("", "0", "1000", "64 parsecs", "-2", True, None, "1e9", "9" * 30)


def test_no_limits() -> None:
    assert len(list(errors(parse_limit, NO_LIMITS))) == len(NO_LIMITS)


def test_the_engines_configuration_keeps_what_is_there_and_its_order() -> None:
    text = '{"z": [1], "default-ulimits": {"nofile": {"Name": "nofile", "Hard": 1, "Soft": 1}}, "a": {"b": null}}'
    merged = merge_engine(text, LIMIT)
    assert merged is not None
    data = json.loads(merged)
    assert list(data) == ["z", "a", "default-ulimits"]
    assert set(data["default-ulimits"]) == {"nofile", "memlock"}
    assert merge_engine(merged, LIMIT) == merged
    assert json.loads(merge_engine(merged, None) or "") == json.loads(text)
    assert merge_engine('{"a":1}', None) == '{"a":1}'


set_limit = functools.partial(merge_engine, limit=LIMIT)
NO_CONFIGURATIONS = ("{", "[]", "7", '{"default-ulimits": []}')


def test_a_configuration_that_is_not_understood_is_not_overwritten() -> None:
    assert len(list(errors(set_limit, NO_CONFIGURATIONS))) == len(NO_CONFIGURATIONS)


def judged(login: int | None, container: dict[str, Any] | None) -> dict[str, list[str]]:
    return verdict(-1, {**LOGIN, "effective": login}, "ann", engine(container=container), False)


def measured(limit: int | None, image: str | None = "i", why: str | None = None) -> dict[str, Any]:
    return {"image": image, "soft": limit, "hard": limit, "why": why}


# Only processes are a proof: what is not known is neither a problem nor a pass.
VERDICTS = {
    "both have it": (judged(-1, measured(-1)), 0, 0),
    "a login has less": (judged(8 * MIB, measured(-1)), 1, 0),
    "a container has less": (judged(-1, measured(8 * MIB)), 1, 0),
    "both are unknown": (judged(None, measured(None)), 2, 0),
    "there is no image": (judged(-1, measured(None, None, "there is no image")), 0, 1),
    "check mode": (judged(-1, None), 0, 1),
    "another login": (verdict(-1, LOGIN, "bob", None, False), 0, 1),
    "no container starts": (judged(-1, measured(None, why="error setting rlimit type 8")), 1, 0),
}


@pytest.mark.parametrize(("result", "problems", "unknown"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts(result: dict[str, list[str]], problems: int, unknown: int) -> None:
    assert (len(result["problems"]), len(result["unknown"])) == (problems, unknown)


def test_a_pending_change_is_not_a_problem() -> None:
    waits = planned(node(runs=["r"]))["engine_waits"]
    assert waits is True
    assert verdict(-1, {**LOGIN, "effective": -1}, "ann", ENGINE, waits) == {"problems": [], "unknown": []}
    assert verdict(None, LOGIN, "ann", ENGINE, False) == {"problems": [], "unknown": []}


def test_words() -> None:
    assert [say(size) for size in (None, -1, 8 * MIB, 2**36, 1000)] == [
        "unknown",
        "unlimited",
        "8 MiB",
        "64 GiB",
        "1000 bytes",
    ]
