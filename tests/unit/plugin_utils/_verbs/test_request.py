# SPDX-License-Identifier: GPL-3.0-or-later
"""The step that makes the request of a verb: what it takes of the cluster, and what is on this controller already."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible._internal._datatag._tags import VaultedValue

from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.plugins.plugin_utils._verbs.openshift import NO_HOST
from ansible_collections.muster.train.plugins.plugin_utils._verbs.request import check
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.requests import LINE, RUN_ID

SECRET = VaultedValue(ciphertext="$ANSIBLE_VAULT;1.1;AES256").tag("hunter2")
Variables = dict[str, Any]
LATER = datetime(2026, 11, 21, tzinfo=UTC)
NODES: dict[str, Variables] = {"node0": {"launch_defaults": {"script": "t.py"}}, "node1": {}}


def checked(
    verb: str | None = "launch",
    given: Variables | None = None,
    hosts: dict[str, Variables] | None = None,
    policy: Variables | None = None,
    is_checked: bool = False,
    **line: Any,
) -> Conclusion:
    """Return the conclusion of a verb to which these extra variables were given, in the current directory."""
    given, hosts = given or {}, NODES if hosts is None else hosts
    typed = dataclasses.replace(LINE, options=(("{...}", given),), extra_vars=given, **line)

    def read(host: str, names: Iterable[str]) -> Variables:
        return {name: hosts[host][name] for name in names if name in hosts[host]}

    play = Play(
        {},
        groups={"nodes": list(hosts)} if hosts else {},
        read_values=read,
        read_tagged=read,
        read_raw=hosts.__getitem__,
        read_policy=lambda names: {"launch__verb": verb, **(policy or {})},
        read_command_line=lambda: typed,
        is_checked=is_checked,
    )
    return check.conclusion(play)


def requested(*args: Any, **kwargs: Any) -> Any:
    return checked(*args, **kwargs).result["request"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_request_is_plain_data_beside_what_the_next_steps_need(home: Path) -> None:
    result = dict(checked(given={"channels": "42"}, environment={"THREADS": "512"}).result)
    assert json.loads(json.dumps(result)) == result
    request = result.pop("request")
    assert {
        name: setting["value"] for name, setting in request["parameters"].items() if name in "channels threads"
    } == {
        "channels": 42,
        "threads": 512,
    }
    assert (request["nodes"], request["experiments"]) == (["node0", "node1"], f"{home}/experiments")
    assert result == {"request_token": LINE.nonce, "heads": ["node0"], "defaults": {"script": "t.py"}}


@pytest.mark.parametrize("verb", [None, "lunch"])
def test_the_playbook_names_a_verb(verb: str | None) -> None:
    with pytest.raises(UserError, match=r"^launch__verb: "):
        checked(verb)


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked(given={"label": SECRET, "channels": "abc", "wat": "1"}, tags=("x",))
    names = [str(reason).partition(":")[0] for reason in caught.value.reasons]
    assert names == ["label", "--tags", "wat", "channels"]


def test_variables_in_templates_of_the_inventory_may_be_given() -> None:
    hosts: dict[str, Variables] = {"node0": {"ansible_user": "{{ person }}"}, "node1": {}}
    assert requested("status", {"person": "ann"}, hosts)["verb"] == "status"
    with pytest.raises(InvalidRequest, match=r"^person: "):
        checked("status", {"person": "ann"})


def test_a_run_that_is_launched_again_takes_its_plan(home: Path) -> None:
    plan = home / "runs" / RUN_ID / "plan.json"
    plan.parent.mkdir(parents=True)
    hosts = {"node0": {**NODES["node0"], "launch_experiments_dir": "runs"}, "node1": {}}
    plan.write_text(json.dumps(requested(given={"channels": 42}, hosts=hosts)))
    again = checked(given={"run_id": RUN_ID}, hosts=hosts)
    setting = again.result["request"]["parameters"]["channels"]
    assert ((setting["value"], setting["layer"]), again.warnings) == ((42, "earlier"), [])
    assert requested(hosts=hosts)["parameters"]["channels"]["value"] is None
    # Another verb has no plan to keep to.
    assert "channels" not in requested("status", {"run_id": RUN_ID}, hosts)["parameters"]


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_given_run_id_without_a_plan_causes_a_warning(home: Path, text: str | None) -> None:
    experiment = home / "experiments" / RUN_ID
    experiment.mkdir(parents=True)
    if text is not None:
        (experiment / "plan.json").write_text(text)
    [warning] = checked(given={"run_id": RUN_ID}, now=LATER).warnings
    assert f"ansible-playbook muster.train.collect -e run_id={RUN_ID}" in warning
    assert checked("status", {"run_id": RUN_ID}, now=LATER).warnings == []
    # A sweep chooses the ID of a run before it launches it.
    assert checked(given={"run_id": RUN_ID}).warnings == []


def test_a_run_id_that_is_a_path_is_not_read(home: Path) -> None:
    (home / "plan.json").write_text('{"parameters": 3}')
    with pytest.raises(InvalidRequest, match=r"^run_id: "):
        checked(given={"run_id": "../../x"})


def test_the_first_node_has_the_policy_of_the_cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", f"{home}/ada")
    hosts = {"node0": {"launch_experiments_dir": "~/runs"}, "node1": {"launch_experiments_dir": "/other"}}
    assert requested("status", hosts=hosts)["experiments"] == f"{home}/ada/runs"
    assert requested("list", hosts={}, policy={"launch_experiments_dir": "kept"})["experiments"] == f"{home}/kept"


@pytest.mark.parametrize(
    ("policy", "first_port"),
    [({"launch_port_range": "2000-2999"}, 2000), ({}, DEFAULT_RANGE[0]), ({"launch_port_range": "2000"}, None)],
)
def test_preflight_gets_the_first_port_of_the_range(policy: Variables, first_port: int | None) -> None:
    """None of a range that is not valid, which the checks refuse in the words of a launch."""
    hosts = {"node0": policy, "node1": {"launch_port_range": "3000-3999"}}
    assert checked("preflight", hosts=hosts).result["first_port"] == first_port
    assert "first_port" not in checked("status", hosts=hosts).result


SAME: dict[str, Variables] = {
    "a": {**NODES["node0"], "ansible_host": "10.0.0.1"},
    "b": {"ansible_host": "10.0.0.1"},
}


def test_addresses_come_from_the_inventory() -> None:
    with pytest.raises(InvalidRequest, match=r"^inventory: a and b "):
        checked(hosts=SAME)
    assert requested(hosts={**SAME, "b": {**SAME["b"], "ansible_port": 2222}})["nodes"] == ["a", "b"]


def test_an_encrypted_variable_is_refused_where_its_value_would_be_saved() -> None:
    hosts: dict[str, Variables] = {
        name: {
            "launch_env": {"A": "plain", "B": SECRET},
            "launch_defaults": {"script": "t.py", "script_args": ["--key", SECRET], "env": {"C": SECRET}},
            "launch_secrets": {"D": SECRET},
        }
        for name in ("node0", "node1")
    }
    hosts["node1"]["launch_node_env"] = {"E": SECRET}
    names = ["launch_defaults.script_args", "launch_defaults.env.C", "launch_env.B", "launch_node_env.E"]
    for verb in ("launch", "detect", "preflight"):
        with pytest.raises(InvalidRequest) as caught:
            checked(verb, hosts=hosts)
        assert [str(reason).partition(": ")[0] for reason in caught.value.reasons] == names
        assert "hunter2" not in str(caught.value)
    # A run that goes on can be stopped all the same.
    assert requested("stop", hosts=hosts)["verb"] == "stop"


# The experiments


def in_a_file(home: Path) -> dict[str, Variables]:
    """Return nodes whose experiments would have to be in a file."""
    (home / "file").write_text("")
    return {"node0": {**NODES["node0"], "launch_experiments_dir": "file/runs"}, "node1": {}}


BLOCKED = r"^launch_experiments_dir: \S"


@pytest.mark.parametrize("verb", ["launch", "collect"])
@pytest.mark.parametrize("is_checked", [False, True])
def test_experiments_that_cannot_be_written(home: Path, verb: str, is_checked: bool) -> None:
    with pytest.raises(UserError, match=BLOCKED):
        checked(verb, hosts=in_a_file(home), is_checked=is_checked)


def test_an_experiment_that_is_in_the_way(home: Path) -> None:
    (home / "experiments").mkdir()
    (home / "experiments" / RUN_ID).write_text("")
    with pytest.raises(UserError, match=BLOCKED):
        checked(given={"run_id": RUN_ID})


@pytest.mark.parametrize(("verb", "count"), [("follow", 1), ("status", 0), ("stop", 0), ("logs", 0)])
def test_other_verbs_work_where_nothing_can_be_written(home: Path, verb: str, count: int) -> None:
    assert len(checked(verb, hosts=in_a_file(home)).warnings) == count


def test_the_experiments_are_made(home: Path) -> None:
    checked(is_checked=True)
    checked("collect")
    assert not (home / "experiments").exists()
    checked()
    assert list((home / "experiments").iterdir()) == []
    assert (home / "experiments").stat().st_mode & 0o777 == 0o700


def test_which_pods_are_asked_before_they_are_replaced_or_removed() -> None:
    pods = {"openshift_image": "registry.example/train:1"}
    for verb, given, policy, expected in (
        ("teardown", {}, {}, (False, NO_HOST)),
        ("teardown", {}, pods, (True, "nodes")),
        ("teardown", {"days": 3}, pods, (False, NO_HOST)),
        ("setup", {}, pods, (True, "nodes")),
    ):
        result = checked(verb, given, policy=policy).result
        assert (result["changes_pods"], result["pods"]) == expected
    assert checked("setup", hosts={}, policy=pods).result["pods"] == NO_HOST
    with pytest.raises(InvalidRequest, match=r"group_vars/all\.yml"):
        checked("setup", hosts={"node0": pods})
