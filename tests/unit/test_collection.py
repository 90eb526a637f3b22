# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said in two places agrees, and the house keeps its rules: the collection's own files, read as text."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.module_documentation import MODULES, documented_options, literals
from ansible_collections.muster.train.tests.support.sources import ROOT, check_all, document

ROLES = sorted(path.name for path in ROOT.glob("roles/*") if path.is_dir())
ACTIONS = sorted(path.stem for path in ROOT.glob("plugins/action/*.py"))
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


def role_options(role: str) -> dict[str, dict[str, Any]]:
    """The options of all entry points of a role by name; one that several entry points share is the same in each."""
    options: dict[str, dict[str, Any]] = {}
    for entry_point in document(f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
        for name, option in entry_point.get("options", {}).items():
            assert options.setdefault(name, option) == option, f"{name} differs between entry points"
    return options


def own_imports(path: str) -> set[str]:
    """The parts of this collection that a Python file imports: `plugins.module_utils._host`, ..."""
    package = ["ansible_collections", "muster", "train", *Path(path).parent.parts]
    imports = set()
    for node in sources.nodes(path):
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
    assert document("meta/runtime.yml")["action_groups"]["train"] == MODULES


def test_every_module_has_an_action() -> None:
    """One on a node asks once more where the reason why a connection failed was lost."""
    routing = document("meta/runtime.yml")["plugin_routing"]
    # Not `action`: Ansible gives modules whose actions are redirected to the same one each other's module_defaults.
    assert list(routing) == ["modules"]
    assert sorted([*ACTIONS, *routing["modules"]]) == MODULES
    assert all(route == {"action_plugin": "muster.train.node_facts"} for route in routing["modules"].values())


def test_modules_are_documented() -> None:
    def breaches(module: str) -> Iterator[str]:
        texts = literals(f"plugins/modules/{module}.py")
        documentation = yaml.safe_load(texts["DOCUMENTATION"])
        if documentation["module"] != module:
            yield f"is documented as {documentation['module']}"
        release = document("changelogs/changelog.yaml")["releases"][documentation["version_added"]]
        if module not in {entry["name"] for entry in release["modules"]}:
            yield "is not in the changelog: make changelog"
        if documentation["author"] not in (AUTHOR, [AUTHOR]):
            yield f"has the author {documentation['author']}"
        if f"muster.train.{module}:" not in texts["EXAMPLES"]:
            yield "is not in its examples"
        if yaml.safe_load(texts["RETURN"]) is None:
            yield "returns nothing"

    check_all(MODULES, breaches)


def test_an_action_takes_the_options_that_its_module_documents() -> None:
    keys = ("type", "required", "default", "choices", "elements")

    def breaches(action: str) -> list[str]:
        plugin = importlib.import_module(f"ansible_collections.muster.train.plugins.action.{action}").ActionModule
        if not hasattr(plugin, "OPTIONS"):
            return []  # The module itself has the argument spec, and `ansible-test sanity` compares it.
        documented, taken = (
            {name: {key: option.get(key) for key in keys} for name, option in options.items()}
            for options in (documented_options(action), plugin.OPTIONS)
        )
        names = sorted({*documented, *taken})
        return [f"{name} differs" for name in names if documented.get(name) != taken.get(name)]

    check_all(ACTIONS, breaches)


def test_an_action_of_the_playbooks_says_so_first() -> None:
    for module in MODULES:
        documentation = yaml.safe_load(literals(f"plugins/modules/{module}.py")["DOCUMENTATION"])
        internal = "muster.train.attributes.playbooks" in documentation["extends_documentation_fragment"]
        assert internal is (documentation["description"][0] == "Used by the playbooks of this collection."), module


def test_role_defaults_match_their_argument_specs() -> None:
    def breaches(role: str) -> Iterator[str]:
        specified = {name: option for name, option in role_options(role).items() if "default" in option}
        defaults = document(f"roles/{role}/defaults/main.yml") or {}
        yield from [f"{name} has a default in one of them only" for name in sorted(set(specified) ^ set(defaults))]
        for name in set(specified) & set(defaults):
            default, value = specified[name]["default"], defaults[name]
            # The types of both, because 1 == True == 1.0.
            if default != value or {type(default), type(value)} != {PYTHON_TYPES[specified[name]["type"]]}:
                yield f"{name} is {value!r} by default, as specified {default!r}"

    check_all(ROLES, breaches)


def test_the_policy_has_the_same_default_in_every_role() -> None:
    """A role that is used without the role launch does not have that role's defaults, and repeats them."""
    policy = document("roles/launch/defaults/main.yml")
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


def test_role_variables_are_described_and_have_the_roles_prefix() -> None:
    def breaches(role: str) -> Iterator[str]:
        if role not in sources.text(f"roles/{role}/README.md"):
            yield "is not in its README.md"
        for name, option in role_options(role).items():
            if not name.startswith(f"{role}_"):
                yield f"{name} does not have the prefix"
            if name.startswith(f"{role}__"):
                yield f"{name} is internal"
            if not (option.get("description") and option.get("type")):
                yield f"{name} is not described"

    check_all(ROLES, breaches)


def test_imports_go_down() -> None:
    def breaches(path: str) -> list[str]:
        allowed = {
            "module_utils": ("plugins.module_utils",),
            "modules": ("plugins.module_utils",),
            "plugin_utils": ("plugins.plugin_utils", *(f"plugins.module_utils.{name}" for name in SHARED)),
        }.get(path.split("/")[1], ("plugins.plugin_utils", "plugins.module_utils"))
        return [f"imports {name}" for name in sorted(own_imports(path)) if not name.startswith(allowed)]

    check_all(sources.files("plugins/**/*.py"), breaches)


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
    assert ignored | CHECKOUT_ONLY == set(document("galaxy.yml")["build_ignore"])


def test_an_execution_environment_gets_the_controllers_programs_and_no_package() -> None:
    dependencies = document("meta/execution-environment.yml")["dependencies"]
    assert set(dependencies) == {"system"}
    packages = [
        line.partition(" ")[0]
        for line in (ROOT / dependencies["system"]).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert packages == ["openssh-client", "openssh-clients", "rsync"]


def test_the_version_has_its_changelog() -> None:
    version = document("galaxy.yml")["version"]
    assert version in document("changelogs/changelog.yaml")["releases"]
    assert f"v{version}\n" in (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
