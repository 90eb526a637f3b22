# SPDX-License-Identifier: GPL-3.0-or-later
"""The plays and tasks of the collection, and the examples of its modules, keep the rules that no linter knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import TAGS, VERBS
from ansible_collections.muster.train.plugins.plugin_utils._screen.stages import STAGES
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Ask, Conclude, find_step
from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.module_documentation import MODULES, documented_options, literals
from ansible_collections.muster.train.tests.support.sources import check_all, document

STEP = "muster.train.step"
TASK_FILES = sources.files("roles/*/handlers/*.yml", "roles/*/tasks/*.yml", "playbooks/**/*.yml")


def test_every_play_keeps_its_hosts_together() -> None:
    """Whatever strategy the user's configuration sets: with another one a node would start before all are planned."""

    def breaches(path: str) -> list[str]:
        plays = [play for play in document(path) if "hosts" in play]
        return [play["name"] for play in plays if play.get("strategy") != "ansible.builtin.linear"]

    check_all(sources.files("playbooks/*.yml"), breaches)


def tasks_of(entries: list[dict[str, Any]], inherited: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the tasks of plays, blocks and task lists, and whether each runs once for all hosts."""
    for entry in entries:
        once = entry.get("run_once", inherited)
        yield entry, once
        for name in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from tasks_of(entry.get(name) or [], once)


def shares_facts(task: dict[str, Any]) -> bool:
    """Return whether a task's result has facts, which are not delegated to one host."""
    facts = {"debug", "gather_facts", "include_vars", "set_fact", "setup"}
    actions = {name.rpartition(".")[2] for name in task}
    return not task.get("delegate_facts") and any(name in facts or name.endswith("_facts") for name in actions)


def test_no_facts_are_set_once_for_all_hosts() -> None:
    """ansible-core 2.21 gives all hosts one dictionary then, so that each has the facts of the last one."""

    def breaches(path: str) -> list[str]:
        return [task["name"] for task, once in tasks_of(document(path)) if once and shares_facts(task)]

    check_all(TASK_FILES, breaches)


def calls(entries: list[dict[str, Any]]) -> list[tuple[str, set[str]]]:
    """The modules of this collection that tasks call, with the names of the options that they give."""
    return [
        (name.removeprefix("muster.train."), set(args or {}))
        for task, _once in tasks_of(entries)
        for name, args in task.items()
        if name.startswith("muster.train.")
    ]


def wrong_options(entries: list[dict[str, Any]]) -> Iterator[str]:
    """What tasks give the modules of this collection that these do not have, and what they leave out."""
    for module, given in calls(entries):
        options = documented_options(module)
        required = {option for option, about in options.items() if about.get("required")}
        yield from [f"{module} does not have {option}" for option in sorted(given - set(options))]
        yield from [f"{module} requires {option}" for option in sorted(required - given)]


def test_an_example_gives_the_options_that_its_modules_require() -> None:
    def breaches(module: str) -> Iterator[str]:
        tasks = yaml.safe_load(literals(f"plugins/modules/{module}.py")["EXAMPLES"])
        if module not in dict(calls(tasks)):
            yield "is not in its examples"
        yield from wrong_options(tasks)

    check_all(MODULES, breaches)


def test_a_task_gives_the_options_that_its_module_requires() -> None:
    check_all(TASK_FILES, lambda path: wrong_options(document(path)))


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"ansible.builtin.set_fact": {}, "run_once": True}, True),
        ({"block": [{"debug": {}}], "run_once": True}, True),
        ({"muster.train.node_facts": {}, "run_once": True}, True),
        ({"tasks": [{"always": [{"ansible.builtin.setup": {}, "run_once": True}]}]}, True),
        ({"ansible.builtin.set_fact": {}, "run_once": True, "delegate_facts": True}, False),
        ({"ansible.builtin.set_fact": {}}, False),
        ({"muster.train.step": {}, "run_once": True}, False),
    ],
)
def test_facts_that_are_set_once_are_found(task: dict[str, Any], expected: bool) -> None:
    assert any(once and shares_facts(entry) for entry, once in tasks_of([task])) is expected


def test_every_verb_begins_with_its_request() -> None:
    def breaches(verb: str) -> Iterator[str]:
        first = document(f"playbooks/{verb}.yml")[0]
        if first.get("ansible.builtin.import_playbook") != "_request.yml":
            yield "does not import _request.yml first"
        elif first["vars"] != {"launch__verb": verb}:
            yield f"requests {first['vars']}"

    check_all(VERBS, breaches)


def test_a_step_that_concludes_runs_once_and_one_that_asks_on_every_host() -> None:
    def breaches(path: str) -> Iterator[str]:
        for task, once in tasks_of(document(path)):
            if (options := task.get(STEP)) and isinstance(find_step(options["name"]), Conclude) != once:
                yield f"{options['name']}: run_once is {once}"

    check_all(TASK_FILES, breaches)


def test_every_stage_is_that_of_a_task() -> None:
    tasks = [task for path in TASK_FILES for task, _once in tasks_of(document(path)) if isinstance(task, dict)]
    steps = {name: find_step(name) for task in tasks if STEP in task for name in [task[STEP]["name"]]}
    modules = {f"muster.train.{step.module}" for step in steps.values() if isinstance(step, Ask)}
    assert {stage for stage in STAGES if not any(stage in task for task in tasks)} <= modules | {*steps}


@pytest.mark.parametrize(("verb", "tags"), TAGS.items())
def test_the_tags_of_a_verb_are_those_of_its_tasks(verb: str, tags: tuple[str, ...]) -> None:
    tasks = [task for play in document(f"playbooks/{verb}.yml") for task in play.get("tasks", [])]
    assert {tag for task in tasks for tag in task["tags"]} == {*tags}
