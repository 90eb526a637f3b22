# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role memlock takes for a limit, for a configuration of the engine, and for a proof."""

from __future__ import annotations

import json

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.memory_limit import parse_limit, say
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock import verdict
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock_engine import merge_engine
from ansible_collections.muster.train.tests.support.memlock_parts import ENGINE, LOGIN, MIB, engine, node, planned


@pytest.mark.parametrize(
    ("text", "expected"),
    [("unlimited", -1), ("infinity", -1), (-1, -1), ("-1", -1), ("64GiB", 2**36), ("64g", 2**36), (8388608, 8388608)],
)
def test_limits(text: object, expected: int) -> None:
    assert parse_limit(text) == expected


@pytest.mark.parametrize("text", ["", "0", "1000", "64 parsecs", "-2", True, None, "1e9", "9" * 30])
def test_no_limits(text: object) -> None:
    with pytest.raises(ValueError, match=r"^memlock_limit "):
        parse_limit(text)


def test_the_engines_configuration_keeps_what_is_there_and_its_order() -> None:
    text = '{"z": [1], "default-ulimits": {"nofile": {"Name": "nofile", "Hard": 1, "Soft": 1}}, "a": {"b": null}}'
    limit = {"Name": "memlock", "Hard": -1, "Soft": -1}
    merged = merge_engine(text, limit)
    assert merged is not None
    data = json.loads(merged)
    assert list(data) == ["z", "a", "default-ulimits"]
    assert set(data["default-ulimits"]) == {"nofile", "memlock"}
    assert merge_engine(merged, limit) == merged
    assert json.loads(merge_engine(merged, None) or "") == json.loads(text)
    assert merge_engine('{"a":1}', None) == '{"a":1}'


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"default-ulimits": []}'])
def test_a_configuration_that_is_not_understood_is_not_overwritten(text: str) -> None:
    with pytest.raises(ValueError, match=r"^/etc/docker/daemon\.json"):
        merge_engine(text, {})


@pytest.mark.parametrize(
    ("effective", "container", "problems"), [(-1, -1, 0), (8 * MIB, -1, 1), (-1, 8 * MIB, 1), (None, None, 2)]
)
def test_only_processes_are_a_proof(effective: int | None, container: int | None, problems: int) -> None:
    measured = engine(container={"image": "i", "soft": container, "hard": container, "why": None})
    result = verdict(-1, {**LOGIN, "effective": effective}, "ann", measured, False)
    assert len(result["problems"]) == problems


def test_an_unknown_limit_is_neither_a_problem_nor_a_pass() -> None:
    without = {"image": None, "soft": None, "hard": None, "why": "there is no image"}
    for container, why in ((without, "there is no image (memlock_image)"), (None, "check mode starts none")):
        assert verdict(-1, {**LOGIN, "effective": -1}, "ann", engine(container=container), False) == {
            "problems": [],
            "unknown": [f"the limit of a container was not checked: {why}"],
        }
    assert verdict(-1, LOGIN, "bob", None, False)["unknown"] == ["the limit of bob was not checked: this login is ann"]
    refused = engine(container={"image": "i", "soft": None, "hard": None, "why": "error setting rlimit type 8"})
    result = verdict(-1, {**LOGIN, "effective": -1}, "ann", refused, False)
    assert result["problems"] == ["no container of i starts to check its limit: error setting rlimit type 8"]


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
