# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role memlock writes, whom it waits for, and what it takes for a proof."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.memory_limit import parse_limit, say
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock import LIMITS_FILE, plan, verdict
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock_engine import (
    ENGINE_FILE,
    MEMORY_FILE,
    merge_engine,
)

MIB = 2**20
LOGIN = {"user": "ann", "uid": 1000, "linger": False, "soft": 8 * MIB, "hard": 8 * MIB, "effective": 8 * MIB}
SSH = {"pid": 70, "configured": 8 * MIB, "reload": False, "soft": 8 * MIB, "hard": 8 * MIB}
ENGINE: dict[str, Any] = {
    "running": True,
    "why": None,
    "containers": [],
    "live_restore": False,
    "stale": False,
    "flag": False,
    "container": {"image": "i", "soft": 8 * MIB, "hard": 8 * MIB, "why": None},
}
NODE: dict[str, Any] = {
    "login": {"hard": 8 * MIB, "can_raise": True},
    "units": {"ssh.service": SSH, "docker.service": {**SSH}},
    "unit_files": ["ssh.service", "user@.service"],
    "files": {},
    "runs": [],
    "engine": ENGINE,
}


def node(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy({**NODE, **changes})


def engine(**changes: Any) -> dict[str, Any]:
    return {**ENGINE, **changes}


def planned(facts: dict[str, Any], limit: Any = "unlimited", name: str = "", state: str = "present") -> dict[str, Any]:
    return plan(facts, LOGIN, name, limit, state, True)


def written(facts: dict[str, Any], limit: Any = "unlimited") -> dict[str, Any]:
    """The node after what was planned for it was written, and nothing else."""
    done = copy.deepcopy(facts)
    for file in planned(facts, limit)["write"]:
        done["files"][file["path"]] = file["text"]
    return done


def test_a_node_without_anything() -> None:
    result = planned(node())
    texts = {file["path"]: file["text"] for file in result["write"]}
    assert list(texts) == [
        LIMITS_FILE,
        "/etc/systemd/system/ssh.service.d/50-muster-memlock.conf",
        "/etc/systemd/system/user@.service.d/50-muster-memlock.conf",
        MEMORY_FILE,
        ENGINE_FILE,
    ]
    assert texts[LIMITS_FILE].splitlines()[1:] == ["ann - memlock unlimited"]
    assert texts["/etc/systemd/system/ssh.service.d/50-muster-memlock.conf"].endswith(
        "[Service]\nLimitMEMLOCK=infinity\n"
    )
    assert json.loads(texts[ENGINE_FILE]) == {
        "default-ulimits": {"memlock": {"Name": "memlock", "Hard": -1, "Soft": -1}}
    }
    assert (result["for"], result["wanted"], result["reload"], result["remove"]) == ("ann", -1, True, [])
    assert result["restart"] == ["ssh.service", "docker.service"]
    assert (result["pending"], result["changes"]) == ([], True)


def test_sizes_are_written_in_each_files_own_unit() -> None:
    texts = {file["path"]: file["text"] for file in planned(node(), "4MiB", "@ml")["write"]}
    assert texts[LIMITS_FILE].endswith("@ml - memlock 4096\n")
    assert "LimitMEMLOCK=4194304\n" in texts["/etc/systemd/system/ssh.service.d/50-muster-memlock.conf"]
    assert '"Soft": 4194304' in texts[ENGINE_FILE]


def test_a_node_that_has_all_is_left_alone() -> None:
    facts = written(node())
    facts["units"]["ssh.service"].update(configured=-1, soft=-1)
    facts["engine"].update(stale=True, container={"image": "i", "soft": -1, "hard": -1, "why": None})
    result = planned(facts)
    assert (result["write"], result["remove"], result["reload"], result["restart"]) == ([], [], False, [])
    assert result["changes"] is False


@pytest.mark.parametrize(
    ("facts", "who"),
    [
        (node(runs=["multinode_42ch"]), "run multinode_42ch is active"),
        (
            node(engine=engine(containers=[{"name": "train", "gpu": True, "privileged": False}], live_restore=True)),
            "container train has GPUs",
        ),
        (node(engine=engine(why="half an answer")), "the engine's containers are unknown (half an answer)"),
    ],
)
def test_nothing_in_use_is_restarted_before_the_next_run(facts: dict[str, Any], who: str) -> None:
    result = planned(facts)
    assert result["write"]
    assert (result["reload"], result["restart"]) == (False, [])
    assert len(result["pending"]) == 2
    assert all(f"because {who}: run this again afterwards" in line for line in result["pending"])
    # The files are written, and the node is still in use.
    later = written(facts)
    later["units"]["ssh.service"]["reload"] = True
    later["engine"]["stale"] = True
    assert planned(later)["changes"] is False
    assert len(planned(later)["pending"]) == 2
    # The run has ended.
    later.update(runs=[])
    later["engine"].update(containers=[], why=None)
    result = planned(later)
    assert (result["reload"], result["restart"], result["pending"]) == (True, ["ssh.service", "docker.service"], [])
    assert result["write"] == []


def test_a_container_without_gpus_stops_the_restart_of_the_engine_only() -> None:
    facts = node(engine=engine(containers=[{"name": "web", "gpu": False, "privileged": False}]))
    result = planned(facts)
    assert (result["reload"], result["restart"]) == (True, ["ssh.service"])
    assert ["container web would be stopped" in line for line in result["pending"]] == [True]
    facts["engine"]["live_restore"] = True
    assert planned(facts)["restart"] == ["ssh.service", "docker.service"]


def test_an_engine_that_is_down_is_not_started() -> None:
    facts = node(engine=engine(running=False, why="cannot connect", container=None))
    facts["units"]["docker.service"]["pid"] = None
    result = planned(facts)
    assert (result["restart"], result["pending"]) == (["ssh.service"], [])


def test_no_engine() -> None:
    assert ENGINE_FILE not in {file["path"] for file in planned(node(engine=None))["write"]}


def test_a_service_with_another_limit_than_its_unit_is_restarted() -> None:
    facts = written(node(engine=None))
    facts["units"]["ssh.service"]["configured"] = -1
    assert planned(facts)["restart"] == ["ssh.service"]


def test_absent_takes_away_what_present_wrote() -> None:
    facts = written(node(files={ENGINE_FILE: '{"log-driver": "local"}'}))
    result = planned(facts, state="absent")
    assert result["remove"] == [
        LIMITS_FILE,
        "/etc/systemd/system/ssh.service.d/50-muster-memlock.conf",
        "/etc/systemd/system/user@.service.d/50-muster-memlock.conf",
        MEMORY_FILE,
    ]
    assert [json.loads(file["text"]) for file in result["write"]] == [{"log-driver": "local"}]
    assert (result["wanted"], result["reload"]) == (None, True)
    assert planned(node(), state="absent")["changes"] is False
    assert planned(written(node()), state="absent")["remove"][-2:] == [ENGINE_FILE, MEMORY_FILE]


def limited(soft: int, hard: int | None = None) -> str:
    """A daemon.json that an administrator wrote."""
    hard = soft if hard is None else hard
    return json.dumps({"default-ulimits": {"memlock": {"Name": "memlock", "Hard": hard, "Soft": soft}}})


def test_absent_restores_the_administrators_own_limit() -> None:
    facts = node(files={ENGINE_FILE: limited(MIB, 2 * MIB)})
    # Twice with different limits: what was there first is what counts.
    facts = written(written(facts, "8MiB"), "4MiB")
    assert json.loads(facts["files"][ENGINE_FILE]) == json.loads(limited(4 * MIB))
    result = planned(facts, state="absent")
    assert [json.loads(file["text"]) for file in result["write"]] == [json.loads(limited(MIB, 2 * MIB))]
    assert (result["remove"][-1], result["stays"]) == (MEMORY_FILE, [])


@pytest.mark.parametrize("limit", [MIB, -1])
def test_absent_keeps_a_limit_that_the_role_did_not_write(limit: int) -> None:
    facts = node(files={ENGINE_FILE: limited(limit)})
    result = planned(facts, state="absent")
    assert (result["write"], result["remove"], result["changes"]) == ([], [], False)
    [line] = result["stays"]
    assert line.startswith("default-ulimits.memlock in /etc/docker/daemon.json stays, because no ")
    # The one that is wanted is there already: it does not become ours.
    assert MEMORY_FILE not in written(node(files={ENGINE_FILE: limited(-1)}))["files"]


def test_absent_leaves_a_limit_alone_that_was_changed_since() -> None:
    facts = written(node())
    facts["files"][ENGINE_FILE] = limited(MIB)
    result = planned(facts, state="absent")
    assert ENGINE_FILE not in [*result["remove"], *(file["path"] for file in result["write"])]
    assert result["remove"][-1] == MEMORY_FILE
    assert "it was changed after" in result["stays"][0]
    # Written over, the administrator's is what comes back.
    assert json.loads(written(facts)["files"][MEMORY_FILE])["before"]["Soft"] == MIB


@pytest.mark.parametrize("memory", ["", "{", "[]", "{}", '{"wrote": 7}'])
def test_a_memory_that_is_not_understood_is_none(memory: str) -> None:
    facts = node(files={ENGINE_FILE: limited(MIB), MEMORY_FILE: memory})
    assert planned(facts, state="absent")["stays"]


def test_check_mode_predicts_by_the_configuration_only() -> None:
    facts = written(node(engine=engine(container=None, stale=True)))
    assert "docker.service" not in planned(facts)["restart"]
    assert "docker.service" in planned(node(engine=engine(container=None)))["restart"]
    without = {"image": None, "soft": None, "hard": None, "why": "there is no image"}
    facts["engine"]["container"] = without
    assert "docker.service" in planned(facts)["restart"]


def test_a_lingering_users_manager_is_reported_and_left_alone() -> None:
    facts = node(engine=None)
    facts["units"]["user@1000.service"] = {**SSH, "pid": 9}
    login = {**LOGIN, "linger": True}
    result = plan(facts, login, "", "unlimited", "present", True)
    assert "user@1000.service" not in result["restart"]
    assert [line.partition(":")[0] for line in result["pending"]] == ["the service manager of ann keeps 8 MiB"]
    assert plan(facts, LOGIN, "", "unlimited", "present", True)["pending"] == []


def test_what_the_machine_cannot_do_is_refused_before_anything_is_written() -> None:
    facts = node(login={"hard": 8 * MIB, "can_raise": False})
    with pytest.raises(ValueError, match=r"nothing here can raise the limit above 8 MiB: root has no CAP_SYS_RESOURCE"):
        planned(facts)
    assert planned(facts, "8MiB")["wanted"] == 8 * MIB


def test_an_engine_with_limits_on_its_command_line_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has --default-ulimit on its command line"):
        planned(node(engine=engine(flag=True)))


@pytest.mark.parametrize("name", ["*", "%", "a b", "-x", "1000", "1000:2000", "a\nb", "@", "a#b"])
def test_limits_are_for_one_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"^memlock_for .*never \*"):
        planned(node(), name=name)


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
