# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation names is there, and what a user can set is documented."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.pattern import MetricsPattern
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import (
    DEFAULT,
    FABRIC,
    LAUNCH_DEFAULTS,
    LAUNCH_ENV,
    LAUNCH_NODE_ENV,
    MUSTER,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl import gid
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import Library, resolve
from ansible_collections.muster.train.plugins.plugin_utils._plan import trackers
from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.registry import LAUNCHERS
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import Parameter
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, MUST_TCP, hca, port, roce, view

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
VERB_PAGE = ROOT / "docs" / "verbs.md"
PARAMETER_PAGE = ROOT / "docs" / "parameters.md"
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
PAGES = [README, *(role / "README.md" for role in ROLES), *sorted((ROOT / "docs").rglob("*.md"))]
PLAYBOOKS = sorted(path.stem for path in ROOT.glob("playbooks/[!_]*.yml"))
# What a user makes by following the pages.
MADE = ("inventories/mycluster", "experiments", "detect")
# A cell may hold an escaped bar.
CELL = re.compile(r"(?<!\\)\|")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def rows(page: Path, first: str) -> dict[str, list[str]]:
    """The rows of the table whose heading begins with `first`, by their first cell, which is code or plain."""
    cells_by_name: dict[str, list[str]] = {}
    inside = False
    for line in read(page).splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]]
        if cells and cells[0] == first:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= set("-: "):
            cells_by_name[cells[0].strip("`")] = cells[1:]
    assert cells_by_name, f"no table of {first} in {page}"
    return cells_by_name


def code(page: Path) -> Iterator[str]:
    """Every line of the fenced blocks, without the prompt, and every inline code."""
    text = read(page)
    for block in re.findall(r"^ *```[a-z]*\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def commands(page: Path, name: str) -> list[list[str]]:
    """The commands of that name, in words, without comments."""
    return [words for line in code(page) if (words := _words(line)) and words[0] == name]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # prose with an apostrophe
        return []


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def extra_variables(words: list[str]) -> Iterator[str]:
    """The names that a command gives with -e."""
    for option, value in itertools.pairwise(words):
        if option == "-e":
            yield from yaml.safe_load(value) if value.startswith("{") else [value.partition("=")[0]]


@each_page
def test_links_resolve(page: Path) -> None:
    # Links in a block are those of the file that the block is for.
    for target in re.findall(r"\]\(([^)]+)\)", FENCE.sub("", read(page))):
        path, _hash, anchor = target.partition("#")
        assert not path.startswith("http"), f"{target}: the pages stand alone"
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(file), target


@each_page
def test_paths_exist(page: Path) -> None:
    tops = {path.name for path in ROOT.iterdir()}
    new = set(re.findall(r"^`([^`]+)` \(new file\):$", read(page), re.MULTILINE))
    for word in (word for line in code(page) for word in line.split()):
        path = word.strip("'\",:")
        if path.split("/")[0] not in tops or "/" not in path or path.startswith((".", *MADE)) or "VERB" in path:
            continue
        assert path in new or (ROOT / path).exists(), path


@each_page
def test_playbooks_exist_and_take_what_they_are_given(page: Path) -> None:
    variables = {name for role in ROLES for name in yaml.safe_load(read(role / "defaults" / "main.yml"))}
    for words in commands(page, "ansible-playbook"):
        named = [word for word in words if word.endswith(".yml") or word.startswith("muster.train.")]
        assert len(named) == 1, words
        verb = Path(named[0]).stem if named[0].endswith(".yml") else named[0].removeprefix("muster.train.")
        if verb == "VERB":
            continue
        assert verb in PLAYBOOKS, words
        assert not named[0].endswith(".yml") or (ROOT / named[0]).is_file(), words
        assert set(extra_variables(words)) <= {parameter.name for parameter in VERBS.get(verb, ())} | variables, words


@each_page
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), re.MULTILINE))
    for words in commands(page, "make"):
        assert set(words[1:]) <= targets, words


def test_the_pages_have_commands() -> None:
    """So that the tests above do not pass on nothing."""
    assert len([words for page in PAGES for words in commands(page, "ansible-playbook")]) >= 20
    assert ["make", "launch"] in commands(README, "make")
    assert ["make", "test"] in commands(README, "make")
    assert {word for page in PAGES for words in commands(page, "ansible-playbook") for word in extra_variables(words)}


def test_readme_is_short() -> None:
    assert len(read(README).splitlines()) <= 150


def test_the_first_screen_of_the_readme_says_how_to_begin() -> None:
    screen = "\n".join(read(README).splitlines()[:40])
    for text in ("git clone", "make launch", "muster.train.discover", "-e script=train.py"):
        assert text in screen


def test_the_readme_links_to_every_page() -> None:
    targets = set(re.findall(r"\]\(([^)#]+)\)", read(README)))
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= targets


def test_the_table_of_verbs_is_the_playbooks() -> None:
    table = rows(VERB_PAGE, "verb")
    assert sorted(table) == PLAYBOOKS == sorted(VERBS)
    assert {verb: cells[0] for verb, cells in table.items()} == {
        verb: f"[{verb}.yml](../playbooks/{verb}.yml)" for verb in table
    }


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "launch"])
def test_parameters_of_the_other_verbs_are_in_their_row(verb: str) -> None:
    text = rows(VERB_PAGE, "verb")[verb][1]
    for parameter in VERBS[verb]:
        # The page has these once for all verbs, and those of a launch are on their own page.
        of_launch = verb == "sweep" and parameter in VERBS["launch"]
        assert of_launch or parameter.name in ("run_id", "output") or f"`{parameter.name}=" in text


def test_the_table_of_launch_parameters_is_the_specification() -> None:
    assert sorted(rows(PARAMETER_PAGE, "parameter")) == sorted(parameter.name for parameter in VERBS["launch"])


@pytest.mark.parametrize("parameter", VERBS["launch"], ids=lambda parameter: str(parameter.name))
def test_launch_parameters(parameter: Parameter) -> None:
    environment, default, meaning = rows(PARAMETER_PAGE, "parameter")[parameter.name]
    assert environment == (f"`{parameter.environment}`" if parameter.environment else "")
    if parameter.default not in (None, [], {}):
        assert default.strip("`") == str(parameter.default).lower()
    for choice in parameter.choices:
        assert f"`{choice}`" in default + meaning
    if parameter.multiple > 1:
        assert f"{parameter.minimum} to {parameter.maximum} by {parameter.multiple}" in meaning
    if parameter.name == "channels":
        assert f"{parameter.minimum} to {parameter.maximum}:" in meaning


def test_launchers_are_named() -> None:
    assert set(re.findall(r"`(\w+)`", rows(ROOT / "docs" / "glossary.md", "word")["launcher"][0])) == set(LAUNCHERS)


@pytest.mark.parametrize("role", ROLES, ids=lambda role: str(role.name))
def test_the_table_of_role_variables_is_the_specification(role: Path) -> None:
    specification: dict[str, Any] = yaml.safe_load(read(role / "meta" / "argument_specs.yml"))["argument_specs"]
    options = {name: option for entry in specification.values() for name, option in entry["options"].items()}
    table = rows(role / "README.md", "variable")
    shown = {name: "" if cells[0] == "empty" else yaml.safe_load(cells[0].strip("`")) for name, cells in table.items()}
    assert shown == {name: option["default"] for name, option in options.items()}


def test_the_table_of_packages_is_the_requirements() -> None:
    pins: dict[str, str] = {}
    for path in sorted(ROOT.glob("requirements*.txt")):
        pins.update(re.findall(r"^([\w-]+)==(\S+)$", read(path), re.MULTILINE))
    table = rows(ROOT / "docs" / "requirements.md", "package")
    assert {name: cells[0] for name, cells in table.items()} == pins
    assert all(why and license_ for _pin, why, license_ in table.values())


def test_origins_are_spelled_as_the_plan_spells_them() -> None:
    origins = " ".join(cells[0] for cells in rows(ROOT / "docs" / "environment.md", "layer").values())
    assert set(re.findall(r"`([^`]+)`", origins)) == {
        *map(str, (DEFAULT, MUSTER, FABRIC, LAUNCH_ENV, LAUNCH_NODE_ENV, LAUNCH_DEFAULTS)),
        *("-e NAME", "environment NAME"),
    }


def test_variables_documented_as_not_set_are_not_set() -> None:
    text = read(ROOT / "docs" / "environment.md")
    unset = text.partition("## What is not set")[2].partition("##")[0]
    names = set(re.findall(r"`([A-Z][A-Z0-9_]{3,})`", unset))
    assert len(names) >= 10
    node = view(hcas=[hca("mlx5_0"), hca("mlx5_1", port(rate=100.0))], library=Library("nccl", (2, 19, 3)))
    rail = view(hcas=[roce("mlx5_0", "10.2.0.5")], library=Library("nccl", (2, 19, 3)))
    environments = [
        resolve([cluster_node], policy).nodes["node0"] for cluster_node in (node, rail) for policy in (AUTO, MUST_TCP)
    ]
    given = {variable.name for environment in environments for variable in environment.variables}
    assert {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME"} <= given
    assert not names & given
    left = {variable.name for environment in environments for variable in environment.not_set}
    assert left - given - names == {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"}  # set by the parameter channels


def test_every_variable_that_is_set_is_in_the_table_with_its_rule() -> None:
    table = rows(ROOT / "docs" / "environment.md", "variable")
    rules = {name: cells[0] for names, cells in table.items() for name in re.findall(r"[A-Z][A-Z_]+", names)}
    sources = "".join(read(path) for path in (ROOT / "plugins" / "plugin_utils" / "_nccl").glob("*.py"))
    assert {rules[name] for name in ("NCCL_IB_DISABLE", "NCCL_NET")} == {"D1"}
    assert (rules["NCCL_IB_HCA"], rules["NCCL_IB_GID_INDEX"], rules["NCCL_SOCKET_IFNAME"]) == ("D2", "D3", "D4")
    named = set(re.findall(r'decided\(\s*"([A-Z_]+)"', sources)) | {gid.INDEX, gid.FAMILY, gid.RANGE}
    assert len(named) >= 6
    assert named <= set(rules)


def test_the_variables_of_trackers_are_the_plans() -> None:
    table = rows(ROOT / "docs" / "trackers.md", "variable")
    values = {item.name: item.value for item in trackers.variables("{run_id}", "{output_dir}")}
    assert {name: table[name][0].strip("`") for name in values} == values
    assert set(values) <= set(re.findall(r"[A-Z_]{5,}", read(ROOT / "docs" / "environment.md")))


def test_the_documented_pattern_matches_the_documented_line() -> None:
    text = read(ROOT / "docs" / "first-workload.md")
    (parameter,) = re.findall(r"-e '({\"metrics_pattern\": .*})'", text)
    (line,) = re.findall(r"`(update [^`]+ nll [^`]+)`", text)
    progress = MetricsPattern(json.loads(parameter)["metrics_pattern"]).parse(line)
    assert progress == Progress(step=3, total_steps=250, loss=0.412345)


@each_page
def test_no_line_is_too_long_to_read_in_a_terminal(page: Path) -> None:
    long = [line for line in read(page).splitlines() if len(line) > 140 and not line.lstrip().startswith("|")]
    assert long == []
