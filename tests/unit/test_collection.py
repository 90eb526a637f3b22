# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said in two places agrees, and the house keeps its rules: the collection's own files, read as text."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import TAGS, VERBS

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in ROOT.glob("roles/*") if path.is_dir())
ACTIONS = sorted(path.stem for path in ROOT.glob("plugins/action/*.py"))
MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/*.py"))
SOURCES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("plugins/**/*.py"))
TASK_FILES = [str(path.relative_to(ROOT)) for path in (*ROOT.glob("roles/*/*/*.yml"), *ROOT.glob("playbooks/*.yml"))]
TASK_FILES = sorted(path for path in TASK_FILES if path.split("/")[-2] in ("handlers", "playbooks", "tasks"))
# Of the nodes' side, what the controller may import: the records and the text helpers.
SHARED = ("_records", "_text")
AUTHOR = "The Muster project (@muster)"
PYTHON_TYPES: dict[str, type] = {
    "str": str,
    "path": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list": list,
    "dict": dict,
}


def load(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def role_options(role: str) -> dict[str, dict[str, Any]]:
    """The options of all entry points of a role by name; one that several entry points share is the same in each."""
    options: dict[str, dict[str, Any]] = {}
    for entry_point in load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
        for name, option in entry_point.get("options", {}).items():
            assert options.setdefault(name, option) == option, f"{name} differs between entry points"
    return options


def literals(path: str) -> dict[str, str]:
    """The strings that a Python file assigns to names: DOCUMENTATION, EXAMPLES, RETURN."""
    texts = {}
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                texts[node.targets[0].id] = value.value
    return texts


def documented_options(module: str) -> dict[str, dict[str, Any]]:
    """The options of a module, with those of its documentation fragments, which its own override."""
    documentation = yaml.safe_load(literals(f"plugins/modules/{module}.py")["DOCUMENTATION"])
    options: dict[str, dict[str, Any]] = {}
    for fragment in documentation["extends_documentation_fragment"]:
        name, section = (*fragment.split(".")[2:], "documentation")[:2]
        path = f"ansible_collections.muster.train.plugins.doc_fragments.{name}"
        text = getattr(importlib.import_module(path).ModuleDocFragment, section.upper())
        options.update(yaml.safe_load(text).get("options", {}))
    return {**options, **documentation.get("options", {})}


def own_imports(path: str) -> set[str]:
    """The parts of this collection that a Python file imports: `plugins.module_utils._host`, ..."""
    package = ["ansible_collections", "muster", "train", *Path(path).parent.parts]
    imports = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            imports |= {".".join(filter(None, [*base, node.module, alias.name])) for alias in node.names}
    return {
        name.removeprefix("ansible_collections.muster.train.")
        for name in imports
        if name.startswith("ansible_collections.muster.train.")
    }


def test_every_module_is_in_the_action_group() -> None:
    assert load("meta/runtime.yml")["action_groups"]["train"] == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_documented(module: str) -> None:
    texts = literals(f"plugins/modules/{module}.py")
    documentation = yaml.safe_load(texts["DOCUMENTATION"])
    assert documentation["module"] == module
    release = load("changelogs/changelog.yaml")["releases"][documentation["version_added"]]
    assert module in {entry["name"] for entry in release["modules"]}, "make changelog"
    assert documentation["author"] in (AUTHOR, [AUTHOR])
    assert f"muster.train.{module}:" in texts["EXAMPLES"]
    assert yaml.safe_load(texts["RETURN"]) is not None


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_takes_the_options_that_its_module_documents(action: str) -> None:
    plugin = importlib.import_module(f"ansible_collections.muster.train.plugins.action.{action}").ActionModule
    if not hasattr(plugin, "OPTIONS"):
        return  # The module itself has the argument spec, and `ansible-test sanity` compares it.
    documented = documented_options(action)
    keys = ("type", "required", "default", "choices", "elements")
    wanted = {name: {key: option.get(key) for key in keys} for name, option in documented.items()}
    assert {name: {key: option.get(key) for key in keys} for name, option in plugin.OPTIONS.items()} == wanted


def test_an_action_of_the_playbooks_says_so_first() -> None:
    for module in MODULES:
        documentation = yaml.safe_load(literals(f"plugins/modules/{module}.py")["DOCUMENTATION"])
        internal = "muster.train.attributes.playbooks" in documentation["extends_documentation_fragment"]
        assert internal is (documentation["description"][0] == "Used by the playbooks of this collection."), module


def test_the_request_documents_every_verb() -> None:
    assert documented_options("verb_request")["verb"]["choices"] == list(VERBS)


@pytest.mark.parametrize("role", ROLES)
def test_role_defaults_match_their_argument_specs(role: str) -> None:
    options = role_options(role)
    defaults = load(f"roles/{role}/defaults/main.yml") or {}
    assert defaults == {name: option["default"] for name, option in options.items() if "default" in option}
    for name, default in defaults.items():
        # The types of both, because 1 == True == 1.0.
        assert {type(default), type(options[name]["default"])} == {PYTHON_TYPES[options[name]["type"]]}, name


def test_the_policy_has_the_same_default_in_every_role() -> None:
    """A role that is used without the role launch does not have that role's defaults, and repeats them."""
    policy = load("roles/launch/defaults/main.yml")
    repeated = [
        (str(path.relative_to(ROOT)), name, ast.literal_eval(default))
        for path in [*ROOT.glob("roles/**/*.yml"), *ROOT.glob("playbooks/*.yml")]
        for name, default in re.findall(
            r"\b(launch_[a-z]\w*) \| default\(('[^']*'|{[^}]*}|\[[^]]*\])[,)]", path.read_text(encoding="utf-8")
        )
    ]
    assert {"launch_workdir", "launch_docker"} <= {name for _path, name, _default in repeated}
    assert [(path, name, default) for path, name, default in repeated if policy[name] != default] == []
    assert policy["launch_workdir"] == documented_options("node_facts")["workdir"]["default"]


@pytest.mark.parametrize("role", ROLES)
def test_role_variables_are_described_and_have_the_roles_prefix(role: str) -> None:
    readme = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert role in readme
    for name, option in role_options(role).items():
        assert name.startswith(f"{role}_")
        assert not name.startswith(f"{role}__"), f"{name} is internal"
        assert option["description"]
        assert option["type"]


@pytest.mark.parametrize("path", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda path: path.name)
def test_every_play_keeps_its_hosts_together(path: Path) -> None:
    """Whatever strategy the user's configuration sets: with another one a node would start before all are planned."""
    plays = [play for play in load(str(path)) if "hosts" in play]
    assert [play["name"] for play in plays if play.get("strategy") != "ansible.builtin.linear"] == []


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


@pytest.mark.parametrize("path", TASK_FILES)
def test_no_facts_are_set_once_for_all_hosts(path: str) -> None:
    """ansible-core 2.21 gives all hosts one dictionary then, so that each has the facts of the last one."""
    assert [task["name"] for task, once in tasks_of(load(path)) if once and shares_facts(task)] == []


def check_calls(entries: list[dict[str, Any]]) -> set[str]:
    """Check that tasks give the modules of this collection known options and all required ones; return the modules."""
    calls = [
        (name.removeprefix("muster.train."), set(args or {}))
        for task, _once in tasks_of(entries)
        for name, args in task.items()
        if name.startswith("muster.train.")
    ]
    for module, given in calls:
        options = documented_options(module)
        assert given <= set(options), module
        assert {option for option, about in options.items() if about.get("required")} <= given, module
    return {module for module, _given in calls}


@pytest.mark.parametrize("module", MODULES)
def test_an_example_gives_the_options_that_its_modules_require(module: str) -> None:
    assert module in check_calls(yaml.safe_load(literals(f"plugins/modules/{module}.py")["EXAMPLES"]))


@pytest.mark.parametrize("path", TASK_FILES)
def test_a_task_gives_the_options_that_its_module_requires(path: str) -> None:
    check_calls(load(path))


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"ansible.builtin.set_fact": {}, "run_once": True}, True),
        ({"block": [{"debug": {}}], "run_once": True}, True),
        ({"muster.train.node_facts": {}, "run_once": True}, True),
        ({"tasks": [{"always": [{"ansible.builtin.setup": {}, "run_once": True}]}]}, True),
        ({"ansible.builtin.set_fact": {}, "run_once": True, "delegate_facts": True}, False),
        ({"ansible.builtin.set_fact": {}}, False),
        ({"muster.train.run_plan": {}, "run_once": True}, False),
    ],
)
def test_facts_that_are_set_once_are_found(task: dict[str, Any], expected: bool) -> None:
    assert any(once and shares_facts(entry) for entry, once in tasks_of([task])) is expected


@pytest.mark.parametrize("playbook", sorted(VERBS))
def test_every_verb_begins_with_its_request(playbook: str) -> None:
    first = load(f"playbooks/{playbook}.yml")[0]
    assert first["ansible.builtin.import_playbook"] == "_request.yml"
    assert first["vars"] == {"launch__verb": playbook}


@pytest.mark.parametrize(("verb", "tags"), TAGS.items())
def test_the_tags_of_a_verb_are_those_of_its_tasks(verb: str, tags: tuple[str, ...]) -> None:
    tasks = [task for play in load(f"playbooks/{verb}.yml") for task in play.get("tasks", [])]
    assert {tag for task in tasks for tag in task["tags"]} == {*tags}


@pytest.mark.parametrize("path", SOURCES)
def test_imports_go_down(path: str) -> None:
    room = path.split("/")[1]
    allowed = {
        "module_utils": ("plugins.module_utils",),
        "modules": ("plugins.module_utils",),
        "plugin_utils": ("plugins.plugin_utils", *(f"plugins.module_utils.{name}" for name in SHARED)),
    }.get(room, ("plugins.plugin_utils", "plugins.module_utils"))
    assert {name for name in own_imports(path) if not name.startswith(allowed)} == set()


# Scenarios and hosts whose playbooks a linter without the dependencies cannot resolve.
CHECKOUT_ONLY = {"molecule", "tests/cluster"}


def test_packages_leave_out_what_git_ignores() -> None:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split("\n")
    ignored = {
        line.strip("/") if line.startswith("/") else "*" + line.strip("/")
        for line in lines
        # The last two ansible-galaxy leaves out by itself.
        if line and not line.startswith("#") and not line.endswith((".tar.gz", ".pyc"))
    }
    assert ignored | CHECKOUT_ONLY == set(load("galaxy.yml")["build_ignore"])


def test_an_execution_environment_gets_the_controllers_programs_and_no_package() -> None:
    dependencies = load("meta/execution-environment.yml")["dependencies"]
    assert set(dependencies) == {"system"}
    packages = [
        line.partition(" ")[0]
        for line in (ROOT / dependencies["system"]).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert packages == ["openssh-client", "openssh-clients", "rsync"]


def test_the_version_has_its_changelog() -> None:
    version = load("galaxy.yml")["version"]
    assert version in load("changelogs/changelog.yaml")["releases"]
    assert f"v{version}\n" in (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
