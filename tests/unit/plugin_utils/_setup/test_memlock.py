# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role memlock writes, whom it waits for, and what it refuses."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock import LIMITS_FILE, plan
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock_engine import ENGINE_FILE, MEMORY_FILE
from ansible_collections.muster.train.tests.support.memlock_parts import LOGIN, MIB, SSH, engine, node, planned


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


TRAIN, WEB = ({"name": name, "gpu": name == "train", "privileged": False} for name in ("train", "web"))
IN_USE = {
    "an active run": node(runs=["multinode_42ch"]),
    "a container with GPUs": node(engine=engine(containers=[TRAIN], live_restore=True)),
    "unknown containers": node(engine=engine(why="half an answer")),
}


@pytest.mark.parametrize("facts", IN_USE.values(), ids=IN_USE)
def test_nothing_in_use_is_restarted_before_the_next_run(facts: dict[str, Any]) -> None:
    result = planned(facts)
    assert result["write"]
    assert (result["reload"], result["restart"]) == (False, [])
    assert len(result["pending"]) == 2
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


WITH_WEB = node(engine=engine(containers=[WEB]))


def test_a_container_without_gpus_stops_the_restart_of_the_engine_only() -> None:
    result = planned(WITH_WEB)
    assert (result["reload"], result["restart"], len(result["pending"])) == (True, ["ssh.service"], 1)
    live = node(engine=engine(containers=[WEB], live_restore=True))
    assert planned(live)["restart"] == ["ssh.service", "docker.service"]


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
    assert len(result["stays"]) == 1
    # The one that is wanted is there already: it does not become ours.
    assert MEMORY_FILE not in written(node(files={ENGINE_FILE: limited(-1)}))["files"]


CHANGED = written(node())
CHANGED["files"][ENGINE_FILE] = limited(MIB)


def test_absent_leaves_a_limit_alone_that_was_changed_since() -> None:
    result = planned(CHANGED, state="absent")
    assert ENGINE_FILE not in [*result["remove"], *(file["path"] for file in result["write"])]
    assert result["remove"][-1] == MEMORY_FILE
    assert len(result["stays"]) == 1
    # Written over, the administrator's is what comes back.
    assert json.loads(written(CHANGED)["files"][MEMORY_FILE])["before"]["Soft"] == MIB


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


def for_login(linger: bool) -> dict[str, Any]:
    """What is planned for a user who has a service manager."""
    facts = node(engine=None, units={**node()["units"], "user@1000.service": {**SSH, "pid": 9}})
    return plan(facts, {**LOGIN, "linger": linger}, "", "unlimited", "present", True)


def test_a_lingering_users_manager_is_reported_and_left_alone() -> None:
    result = for_login(linger=True)
    assert "user@1000.service" not in result["restart"]
    assert (len(result["pending"]), for_login(linger=False)["pending"]) == (1, [])


BOUND = node(login={"hard": 8 * MIB, "can_raise": False})
REFUSED = [
    *((BOUND, ""), (node(engine=engine(flag=True)), "")),
    *((node(), name) for name in ("*", "%", "a b", "-x", "1000", "1000:2000", "a\nb", "@", "a#b")),
]


def refusal(facts: dict[str, Any], name: str) -> str:
    with pytest.raises(ValueError, match=r"^\S") as refused:
        planned(facts, name=name)
    return str(refused.value)


@pytest.mark.parametrize(("facts", "name"), REFUSED)
def test_what_cannot_be_done_is_refused_before_anything_is_written(facts: dict[str, Any], name: str) -> None:
    assert refusal(facts, name).isprintable()
    assert planned(BOUND, "8MiB")["wanted"] == 8 * MIB
