# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `step`: what it asks a host, what a step knows of its play, and what becomes of its conclusion."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible import context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars

from ansible_collections.muster.train.plugins.action import step
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError, error_record
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import (
    Ask,
    Conclude,
    Conclusion,
    Play,
    Step,
    Tone,
    Unreachable,
    Visit,
    WantedFile,
)
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of

REQUEST = {"verb": "example", "nodes": ["node0", "node1"]}
CHECKED = {"launch__request": {"request": REQUEST, "heads": ["node0"], "request_token": "now"}}
WORKDIR = ["launch_workdir"]
FULL = "failed to transfer file: no space left on device"
SILENT = "ssh: connect to host node0 port 22: Connection refused"
Module = Callable[[Mapping[str, Any]], dict[str, Any]]


class Fake(step.ActionModule):
    """The action whose modules the test gives."""

    def __init__(self, variables: dict[str, Any], module: Module, is_checked: bool) -> None:
        loader = DataLoader()
        task = MagicMock(args={"name": "example.act"}, async_val=0, check_mode=is_checked, diff=True)
        templar = Templar(loader=loader, variables=variables)
        super().__init__(task, MagicMock(), MagicMock(), loader, templar, None)
        self.module = module
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        self.calls.append(words)
        return self.module(words[1])


class Stage:
    """Runs steps of the test's own as Ansible does, and keeps what they print."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.printed: list[tuple[str, str | None]] = []
        self.documents: list[str] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        keep = self.printed.append
        display = MagicMock(display=lambda text, color=None, **_options: keep((text, color)))
        monkeypatch.setattr(screen, "display", display)
        monkeypatch.setattr(step, "print_document", self.documents.append)
        self.request("table")

    def request(self, output: str) -> None:
        """Ask for a form of output as on the command line."""
        self._patch.setattr(context, "CLIARGS", CLIArgs({"extra_vars": (f"output={output}",), "forks": 7}))
        self._patch.setattr(load_extra_vars, "extra_vars", None, raising=False)

    def run(
        self,
        act: Step,
        host: str = "node0",
        module: Module = dict,
        hosts: Mapping[str, Mapping[str, Any]] | None = None,
        policy: Mapping[str, Any] | None = None,
        checked: Mapping[str, Any] | None = None,
        is_checked: bool = False,
    ) -> dict[str, Any]:
        example = ModuleType("example")
        vars(example)["act"] = act
        self._patch.setitem(sys.modules, f"{Play.__module__.rpartition('.')[0]}.example", example)
        variables = {"inventory_hostname": host, "groups": {"nodes": REQUEST["nodes"]}, **(policy or {})}
        variables.update(
            hostvars=Hosts({"localhost": CHECKED if checked is None else checked, **(hosts or {})}),
            ansible_play_hosts_all=["node0"],
        )
        action = Fake(variables, module, is_checked)
        result = result_of(action, variables)
        self.calls += action.calls
        # Of the request, which the first answer and each later one have.
        result.pop("request_token", None)
        return result

    def conclude(self, **parts: Any) -> dict[str, Any]:
        return self.run(Conclude(lambda _play: Conclusion(**parts)))


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_a_host_is_asked_with_its_options_unless_it_has_none(stage: Stage) -> None:
    asking = Ask("run_info", lambda _play, host: {"node": host} if host == "node0" else None, lambda _play: 60)
    assert stage.run(asking, "node1") == {"changed": False, "skipped": True}
    answered = {"changed": False, "answer": {"node": "node0"}}
    assert stage.run(asking, module=lambda options: {"answer": options}) == answered
    assert stage.calls == [("muster.train.run_info", {"node": "node0"})]


def test_a_host_that_is_not_needed_does_not_fail_the_step(stage: Stage) -> None:
    starting = Ask("run", lambda _play, _host: {}, is_needed=lambda _play, host: host == "node0")
    for host in REQUEST["nodes"]:
        answer = stage.run(starting, host, lambda _options: {"failed": True, "msg": "busy"})
        assert answer == {"changed": False, "failed": host == "node0", "msg": "busy"}


def test_a_host_is_visited_by_several_calls(stage: Stage) -> None:
    @Visit
    def visit(play: Play, host: str) -> dict[str, Any] | None:
        return (
            {"answers": [play.host.run_module("run_file", {"offset": at}) for at in (0, 8)]}
            if host == "node0"
            else None
        )

    assert stage.run(visit)["answers"] == [{"offset": 0}, {"offset": 8}]
    assert stage.run(visit, "node1") == {"changed": False, "skipped": True}


def test_a_visit_ends_where_the_host_does_not_answer(stage: Stage) -> None:
    @Visit
    def visit(_play: Play, _host: str) -> dict[str, Any]:
        raise Unreachable(SILENT)

    assert stage.run(visit) == {"changed": False, "unreachable": True, "msg": SILENT}


def test_a_host_that_takes_longer_than_its_limit_has_failed(stage: Stage) -> None:
    def wait(_options: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(60)
        return {}

    late = {"changed": False, "failed": True, "msg": "no answer within 1 s", "timedout": {"period": 1}}
    assert stage.run(Ask("run_info", lambda _play, _host: {}, lambda _play: 1), module=wait) == late


def test_without_a_checked_request_no_host_is_asked_and_a_conclusion_is_refused(stage: Stage) -> None:
    refusal = {"changed": False, "failed": True, "msg": step.NO_REQUEST}
    assert stage.run(Ask("run_info", lambda _play, _host: {}), checked={}) == {"changed": False, "skipped": True}
    assert stage.run(Conclude(lambda _play: Conclusion()), checked={"launch__request": {"skipped": True}}) == refusal
    assert stage.calls == []


def test_a_step_knows_its_play(stage: Stage) -> None:
    answer = trust_as_template("{{ never }}")

    def look(play: Play) -> Conclusion:
        known: dict[str, Any] = {"request": play.request, "groups": play.groups, "heads": play.heads}
        known.update(hosts=play.hosts, is_checked=play.is_checked, shows_diff=play.shows_diff, forks=play.forks)
        known["answers"] = [play.read_answer(host, "launch__info") for host in ("node0", "node1", "node2")]
        known["defaults"] = play.launch_defaults["launch_slot"]
        return Conclusion(result=known)

    result = stage.run(Conclude(look), hosts={"node0": {"launch__info": answer}, "node1": {}}, is_checked=True)
    assert result == {
        "changed": False,
        "request": REQUEST,
        "groups": {"nodes": ["node0", "node1"]},
        "heads": ["node0"],
        "hosts": ["node0"],
        "is_checked": True,
        "shows_diff": True,
        "forks": 7,
        "answers": ["{{ never }}", None, None],
        "defaults": "default",
    }


@pytest.mark.parametrize(
    ("host", "workdir"),
    [
        ({}, "/h/muster"),  # the role's default, which hostvars does not have
        ({"launch_workdir": "/w"}, "/w"),
        ({"launch_workdir": trust_as_template("{{ home }}/w"), "home": "/own"}, "/own/w"),
        ({"launch_workdir": trust_as_template("/{{ launch_slot }}")}, "/default"),  # refers to another default
    ],
)
def test_the_variables_of_a_host_are_rendered(stage: Stage, host: dict[str, Any], workdir: str) -> None:
    policy = {"launch_workdir": trust_as_template("{{ home }}/muster"), "home": "/h"}
    reading = Conclude(lambda play: Conclusion(result=play.read_policy(WORKDIR) | play.read_values("node0", WORKDIR)))
    result = stage.run(reading, hosts={"node0": host}, policy=policy)
    assert (result, type(result["launch_workdir"])) == ({"changed": False, "launch_workdir": workdir}, str)


def test_a_step_runs_a_module_on_a_host_that_may_not_answer(stage: Stage) -> None:
    def refuse(_options: Mapping[str, Any]) -> dict[str, Any]:
        raise AnsibleConnectionFailure(SILENT)

    def fail(_options: Mapping[str, Any]) -> dict[str, Any]:
        raise AnsibleError(FULL)

    reading = Conclude(lambda play: Conclusion(result={"answer": play.host.run_module("run_file", {"path": "a"})}))
    assert stage.run(reading, module=dict)["answer"] == {"path": "a"}
    assert stage.run(reading, module=refuse)["answer"] == {"unreachable": True, "msg": SILENT}
    assert stage.run(reading, module=fail)["answer"] == {"failed": True, "msg": FULL}
    assert stage.calls == [("muster.train.run_file", {"path": "a"})] * 3


def test_lines_have_their_tones_and_output_replaces_them(stage: Stage) -> None:
    lines = ["a", ("b", Tone.PLAIN), ("c", Tone.GOOD), ("d", Tone.ERROR)]
    assert stage.conclude(lines=lines) == {"changed": False}
    assert stage.printed == [("a", None), ("b", None), ("c", "green"), ("d", "red")]
    assert stage.documents == []
    stage.printed.clear()
    stage.conclude(lines=lines, output="")
    assert (stage.printed, stage.documents) == ([], [""])


def test_closing_lines_follow_when_the_files_are_written(stage: Stage, tmp_path: Path) -> None:
    files = [WantedFile(tmp_path / "page", "", "page", note="page")]
    result = stage.conclude(lines=["line"], files=files, closing_lines=["closing"], warnings=["warning"])
    assert [text for text, _color in stage.printed] == ["line", "page", "closing"]
    assert result == {"changed": True, "warnings": ["warning"]}


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_difference_has_both_texts_also_in_check_mode(stage: Stage, tmp_path: Path, is_checked: bool) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    concluding = Conclude(lambda _play: Conclusion(files=[WantedFile(path, "new", "option")]))
    change = {"before": "old", "after": "new", "before_header": str(path), "after_header": str(path)}
    assert stage.run(concluding, is_checked=is_checked) == {"changed": True, "diff": [change]}
    assert path.read_text() == ("old" if is_checked else "new")


def test_what_later_steps_read_is_the_result(stage: Stage) -> None:
    assert stage.conclude(result={"run_id": "a"}, is_changed=True) == {"changed": True, "run_id": "a"}


def test_an_answer_of_an_earlier_verb_is_none(stage: Stage) -> None:
    answers = {"now": "now", "before": "before", "of another task": None}
    hosts = {name: {"launch__info": {"request_token": token} if token else {}} for name, token in answers.items()}
    known: list[str] = []

    def look(play: Play) -> Conclusion:
        known.extend(host for host in hosts if play.read_answer(host, "launch__info") is not None)
        return Conclusion()

    stage.run(Conclude(look), hosts=hosts)
    assert known == ["now", "of another task"]


@pytest.mark.parametrize("output", ["json", "jsonl", "csv"])
def test_a_document_is_returned_where_it_is_requested(stage: Stage, output: str) -> None:
    assert stage.conclude(document={"runs": []}) == {"changed": False}
    stage.request(output)
    assert stage.conclude(document={"runs": []}) == {"changed": False, "verb_document": {"runs": []}}


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_failure_follows_the_errors_of_the_document(stage: Stage, is_shown: bool) -> None:
    first = error_record("node1: no answer", "node1")
    parts = {"document": {"runs": [], "errors": [first]}, "failure": UserError("failed"), "result": {"run_id": "a"}}
    failed = {"changed": False, "failed": True, "msg": "failed", "reported": is_shown, "run_id": "a"}
    assert stage.conclude(**parts, is_shown=is_shown) == failed
    stage.request("json")
    document = {"runs": [], "errors": [first, error_record("failed")]}
    assert stage.conclude(**parts, is_shown=is_shown) == {**failed, "verb_document": document}


def test_an_error_in_a_conclusion_is_the_message_and_the_document(stage: Stage) -> None:
    def refuse(_play: Play) -> Conclusion:
        raise UserError("run_id: expected a name")

    failed = {"changed": False, "failed": True, "msg": "run_id: expected a name"}
    assert stage.run(Conclude(refuse)) == failed
    stage.request("json")
    document = {"errors": [error_record("run_id: expected a name")]}
    assert stage.run(Conclude(refuse)) == {**failed, "verb_document": document}


def test_a_file_that_cannot_be_written_is_an_error_of_the_document(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stage.request("json")
    result = stage.conclude(document={"runs": []}, files=[WantedFile(tmp_path / "file" / "a", "", "page")])
    assert result["msg"].startswith(f"page: {tmp_path}/file/a could not be written (")
    assert result["verb_document"] == {"runs": [], "errors": [error_record(result["msg"])]}
