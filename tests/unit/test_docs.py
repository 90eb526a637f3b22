# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation names is there, and what a user can set is documented."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.pattern import MetricsPattern
from ansible_collections.muster.train.plugins.plugin_utils._findings import origin
from ansible_collections.muster.train.plugins.plugin_utils._nccl import gid
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import Library, resolve
from ansible_collections.muster.train.plugins.plugin_utils._plan import trackers
from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.registry import LAUNCHERS
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import Parameter
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, MUST_TCP, hca, port, roce, view
from ansible_collections.muster.train.tests.support.sources import ROOT, check_all

README = ROOT / "README.md"
VERB_PAGE = ROOT / "docs" / "verbs.md"
PARAMETER_PAGE = ROOT / "docs" / "parameters.md"
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
FOLDERS = (ROOT, *ROLES, ROOT / "tests")
ROOT_PAGES = [ROOT / name for name in ("AGENTS.md", "CONTRIBUTING.md", "SKILL.md")]
PAGES = [*(place / "README.md" for place in FOLDERS), *ROOT_PAGES, *sorted(ROOT.glob("docs/**/*.md"))]
PLAYBOOKS = sorted(path.stem for path in ROOT.glob("playbooks/[!_]*.yml"))
# What a user makes by following the pages.
MADE = ("inventories/mycluster", "experiments", "detect")
# A cell may hold an escaped bar.
CELL = re.compile(r"(?<!\\)\|")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def rows(page: Path, first: str) -> dict[str, list[str]]:
    """The rows of the table whose heading begins with `first`, by their first cell, which is code or plain."""
    cells_by_name: dict[str, list[str]] = {}
    inside = False
    for line in sources.text(page).splitlines():
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
    text = sources.text(page)
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
    headings = re.findall(r"^#+ (.+)$", sources.text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def extra_variables(words: list[str]) -> Iterator[str]:
    """The names that a command gives with -e."""
    for option, value in itertools.pairwise(words):
        if option == "-e":
            yield from yaml.safe_load(value) if value.startswith("{") else [value.partition("=")[0]]


def test_links_resolve() -> None:
    def breaches(page: Path) -> Iterator[str]:
        # Links in a block are those of the file that the block is for.
        for target in re.findall(r"\]\(([^)]+)\)", FENCE.sub("", sources.text(page))):
            path, _hash, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if path.startswith("http"):
                yield f"{target} leaves the pages, which stand alone"
            elif not file.exists():
                yield f"{target} does not exist"
            elif not file.is_relative_to(ROOT):
                yield f"{target} is outside the checkout"
            elif anchor and anchor not in anchors(file):
                yield f"{target} is not the anchor of a heading"

    check_all(PAGES, breaches)


def test_paths_exist() -> None:
    tops = {path.name for path in ROOT.iterdir()}

    def breaches(page: Path) -> Iterator[str]:
        new = set(re.findall(r"^`([^`]+)` \(new file\):$", sources.text(page), re.MULTILINE))
        for word in (word for line in code(page) for word in line.split()):
            path = word.strip("'\",:")
            if path.split("/")[0] not in tops or "/" not in path or path.startswith((".", *MADE)) or "VERB" in path:
                continue
            if path not in new and not (ROOT / path).exists():
                yield f"{path} does not exist"

    check_all(PAGES, breaches)


def test_playbooks_exist_and_take_what_they_are_given() -> None:
    variables = {name for role in ROLES for name in sources.document(role / "defaults" / "main.yml")}

    def breaches(page: Path) -> Iterator[str]:
        for words in commands(page, "ansible-playbook"):
            named = [word for word in words if word.endswith(".yml") or word.startswith("muster.train.")]
            if len(named) != 1:
                yield f"{shlex.join(words)} has {len(named)} playbooks"
                continue
            is_file = named[0].endswith(".yml")
            verb = Path(named[0]).stem if is_file else named[0].removeprefix("muster.train.")
            if verb == "VERB":
                continue
            if verb not in PLAYBOOKS or (is_file and not (ROOT / named[0]).is_file()):
                yield f"{named[0]} does not exist"
            unknown = {*extra_variables(words)} - {parameter.name for parameter in VERBS.get(verb, ())} - variables
            yield from [f"{verb} does not take {name}" for name in sorted(unknown)]

    check_all(PAGES, breaches)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", sources.text("Makefile"), re.MULTILINE))

    def breaches(page: Path) -> list[str]:
        words = [word for command in commands(page, "make") for word in command[1:]]
        return [f"{word} is not a target" for word in words if word not in targets]

    check_all(PAGES, breaches)


def test_the_pages_have_commands() -> None:
    """So that the tests above do not pass on nothing."""
    assert len([words for page in PAGES for words in commands(page, "ansible-playbook")]) >= 20
    assert ["make", "launch"] in commands(README, "make")
    assert ["make", "test"] in commands(README, "make")
    assert {word for page in PAGES for words in commands(page, "ansible-playbook") for word in extra_variables(words)}


def test_readme_is_short() -> None:
    assert len(sources.text(README).splitlines()) <= 150


def test_the_first_screen_of_the_readme_says_how_to_begin() -> None:
    screen = "\n".join(sources.text(README).splitlines()[:40])
    for text in ("git clone", "make launch", "muster.train.discover", "-e script=train.py"):
        assert text in screen


def test_the_readme_links_to_every_page() -> None:
    targets = set(re.findall(r"\]\(([^)#]+)\)", sources.text(README)))
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
        of_launch = verb in ("sweep", "benchmark", "pairs", "accept", "submit") and parameter in VERBS["launch"]
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


def test_the_table_of_role_variables_is_the_specification() -> None:
    def breaches(role: Path) -> Iterator[str]:
        entry_points = sources.document(role / "meta" / "argument_specs.yml")["argument_specs"].values()
        defaults = {name: option["default"] for entry in entry_points for name, option in entry["options"].items()}
        for name, cells in rows(role / "README.md", "variable").items():
            shown = "" if cells[0] == "empty" else yaml.safe_load(cells[0].strip("`"))
            if name not in defaults:
                yield f"{name} is not an option"
            elif shown != (default := defaults.pop(name)):
                yield f"the default of {name} is {default!r}, not {shown!r}"
        yield from [f"{name} is missing" for name in defaults]

    check_all(ROLES, breaches)


def test_the_table_of_packages_is_the_requirements() -> None:
    pins: dict[str, str] = {}
    for path in sorted(ROOT.glob("requirements*.txt")):
        pins.update(re.findall(r"^([\w-]+)==(\S+)$", sources.text(path), re.MULTILINE))
    table = rows(ROOT / "docs" / "requirements.md", "package")
    assert {name: cells[0] for name, cells in table.items()} == pins
    assert all(why and license_ for _pin, why, license_ in table.values())


def test_origins_are_spelled_as_the_plan_spells_them() -> None:
    origins = " ".join(cells[0] for cells in rows(ROOT / "docs" / "environment.md", "layer").values())
    assert set(re.findall(r"`([^`]+)`", origins)) == {
        *map(str, (origin.DEFAULT, origin.MUSTER, origin.FABRIC)),
        *map(str, (origin.LAUNCH_ENV, origin.LAUNCH_NODE_ENV, origin.LAUNCH_DEFAULTS)),
        *("-e NAME", "environment NAME"),
    }


def test_variables_documented_as_not_set_are_not_set() -> None:
    text = sources.text("docs/environment.md")
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
    rule_sources = "".join(map(sources.text, sources.files("plugins/plugin_utils/_nccl/*.py")))
    assert {rules[name] for name in ("NCCL_IB_DISABLE", "NCCL_NET")} == {"D1"}
    assert (rules["NCCL_IB_HCA"], rules["NCCL_IB_GID_INDEX"], rules["NCCL_SOCKET_IFNAME"]) == ("D2", "D3", "D4")
    named = set(re.findall(r'decided\(\s*"([A-Z_]+)"', rule_sources)) | {gid.INDEX, gid.FAMILY, gid.RANGE}
    assert len(named) >= 6
    assert named <= set(rules)


def test_the_variables_of_trackers_are_the_plans() -> None:
    table = rows(ROOT / "docs" / "trackers.md", "variable")
    values = {item.name: item.value for item in trackers.variables("{run_id}", "{output_dir}")}
    assert {name: table[name][0].strip("`") for name in values} == values
    assert set(values) <= set(re.findall(r"[A-Z_]{5,}", sources.text("docs/environment.md")))


def test_the_documented_pattern_matches_the_documented_line() -> None:
    text = sources.text("docs/first-workload.md")
    (parameter,) = re.findall(r"-e '({\"metrics_pattern\": .*})'", text)
    (line,) = re.findall(r"`(update [^`]+ nll [^`]+)`", text)
    progress = MetricsPattern(json.loads(parameter)["metrics_pattern"]).parse(line)
    assert progress == Progress(step=3, total_steps=250, loss=0.412345)


def test_no_line_is_too_long_to_read_in_a_terminal() -> None:
    def breaches(page: Path) -> list[str]:
        lines = sources.text(page).splitlines()
        return [line for line in lines if len(line) > 140 and not line.lstrip().startswith("|")]

    check_all(PAGES, breaches)
