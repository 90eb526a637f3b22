# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names are nouns and verbs, and text is plain American English: the worst patterns are refused."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

# Pronouns and participles that stand for data.
REFUSED_NAMES = {"each", "found", "told", "said", "seen", "own", "there", "whoever"}

REFUSED_TEXT = {
    pattern: re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!there )\b(?:is|are) no (?!longer\b|more\b|later\b)[\w']+",
        r"(?<!=)(?<!u:)(?<!\buser )\bnobody\b",  # which is also the name of a user
        r"\bmend(?:s|ed|ing)?\b",
        r"\btells? of\b",
        r"\btold of\b",
        r"\bas (?:it|the \w+) says? itself\b",
        r"\bbr(?:ing|ings|ought) (?:\w+ ){0,2}home\b",
        r"\bbelongs to nobody\b",
        r"\bcould not be looked at\b",
        r"\bwithout a word\b",
        r"\bfor ever\b",
        r"\bnothing of it\b",
        r"\bof yours\b",
        r"\bas the nodes say\b",
        r"\b(?:behaviour|colour|flavour|honour|neighbour|favour|licence|centre|metre|catalogue)s?\b",
        r"\b(?:recogni|initiali|organi|normali|serali|summari|optimi|analy|minimi)se[sd]?\b",
        r"\b(?:cancell|signall|labell|modell|travell)(?:ed|ing)\b",
    )
}

# What Ansible and Jinja bind: the tasks and templates of the roles, of the verbs and of what tests the roles.
ANSIBLE = sorted(
    path
    for folder in ("roles", "playbooks", "molecule", "tests/cluster")
    for pattern in ("*.yml", "*.j2")
    for path in (ROOT / folder).rglob(pattern)
)
PYTHON = sorted(path for room in ("plugins", "tests", "tools") for path in (ROOT / room).rglob("*.py"))
TEXTS = sorted(
    path
    for pattern in (
        "*.md",
        "Makefile",
        "ansible.cfg",
        "galaxy.yml",
        "docs/**/*.md",
        "roles/**/*.md",
        "roles/**/*.yml",
        "roles/**/*.j2",
        "playbooks/*.yml",
        "inventories/**/*.yml",
        "examples/**/*.md",
        "examples/**/*.yaml",
        "examples/**/*.yml",
        "changelogs/fragments/*.yml",
        "molecule/**/*.yml",
        "tests/**/README.md",
        "tests/cluster/**/*.yml",
        "tests/mutations/*.yml",
        ".github/**/*.md",
        ".github/**/*.yml",
    )
    for path in ROOT.glob(pattern)
    if path.is_file()
)


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Every name that the code binds: variables, arguments, functions, classes, attributes, aliases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def ansible_names(document: object) -> Iterator[str]:
    """Every name that tasks and plays bind: registered results, variables, facts and the names of loops."""
    if isinstance(document, list):
        for item in document:
            yield from ansible_names(item)
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        if key in ("register", "loop_var", "index_var") and isinstance(value, str):
            yield value
        elif key in ("vars", "set_fact", "ansible.builtin.set_fact") and isinstance(value, dict):
            yield from map(str, value)
        yield from ansible_names(value)


def jinja_names(text: str) -> list[str]:
    """Every name that a template binds in a loop, with `set` or as a macro and its arguments."""
    bound = re.findall(r"{%[-+]? *(?:for ([\w, ]+?) in |set ([\w, ]+?) *[=%]|macro ([^%]*)%)", text)
    return re.findall(r"[A-Za-z_]\w*", " ".join(map(" ".join, bound)))


def names_of_file(path: Path) -> Iterator[str]:
    """The names that a file of Ansible binds, without the prefix of the role: `found` of `launch__found`."""
    text = path.read_text(encoding="utf-8")
    names = jinja_names(text)
    if path.suffix == ".yml":
        document = yaml.safe_load(text)
        names += ansible_names(document)
        if path.parent.name in ("vars", "defaults"):
            names += map(str, document or {})
    return (name.rpartition("__")[2] for name in names)


def texts(source: str, strings: bool = True) -> Iterator[str]:
    """Every text of the code: docstrings and comments, and the other strings too unless they quote what is refused."""
    for node in ast.walk(ast.parse(source)):
        if strings and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif not strings and isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def text_without_code(text: str) -> str:
    """A page without its fenced blocks and inline code, which quote what programs print."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))


def phrases(text: str) -> list[str]:
    """What a text has of the refused patterns."""
    flat = " ".join(text.split())
    return [match.group() for pattern in REFUSED_TEXT.values() for match in pattern.finditer(flat)]


def test_names_are_nouns_and_verbs() -> None:
    refused = {
        str(path.relative_to(ROOT)): names
        for path in PYTHON
        if (names := REFUSED_NAMES.intersection(bound_names(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert refused == {}


def test_names_of_roles_and_templates_are_nouns_and_verbs() -> None:
    refused = {
        str(path.relative_to(ROOT)): names
        for path in ANSIBLE
        if (names := REFUSED_NAMES.intersection(names_of_file(path)))
    }
    assert refused == {}


def test_texts_of_the_code_are_plain_english() -> None:
    """The strings of tests are left out: they quote what they refuse."""
    refused = {
        str(path.relative_to(ROOT)): hits
        for path in PYTHON
        if (hits := phrases("\n".join(texts(path.read_text("utf-8"), not path.is_relative_to(ROOT / "tests")))))
    }
    assert refused == {}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_roles_are_plain_english(path: Path) -> None:
    if path == ROOT / "docs" / "faults.md":
        pytest.skip("written by the fault suite")
    assert phrases(text_without_code(path.read_text(encoding="utf-8"))) == []


def test_the_patterns_match_what_they_are_for() -> None:
    """So that the tests above do not pass on nothing."""
    for text in (
        "'x' is no run id",
        "nobody could look at the memory",
        "the command that mends it",
        "preflight tells of it",
        "as the driver says itself",
        "bring the run home",
        "the licence",
        "it waits for ever",
        "a directory of yours",
    ):
        assert phrases(text), text
    assert not phrases("As the user nobody for every node, after setfacl -m u:nobody:rwx.")
    code = '"""As told of."""\nx = "nobody"  # for ever'
    assert [phrases(text) for text in texts(code, strings=False)] == [["told of"], ["for ever"]]
    assert ["nobody"] in [phrases(text) for text in texts(code)]
    assert not phrases("There is no run. It is no longer active, and the license is recognized.")
    assert list(bound_names(ast.parse("for each in x:\n    found = said.seen"))) == ["each", "found"]
    tasks = [{"block": [{"register": "told", "vars": {"own": 1}}], "loop_control": {"loop_var": "each"}}]
    assert list(ansible_names(tasks)) == ["told", "own", "each"]
    template = "{% for each, there in x %}{%- set seen = 1 %}{% macro line(said) %}{{ found }}"
    assert jinja_names(template) == ["each", "there", "seen", "line", "said"]


@pytest.mark.parametrize("path", sorted((ROOT / "changelogs" / "fragments").glob("*.yml")), ids=lambda path: path.name)
def test_a_changelog_has_no_markup_of_modules(path: Path) -> None:
    """The changelog is reStructuredText, which shows C(...) as it is."""
    assert re.findall(r"\b[CEMOVPIBLUR]\([^)]*\)", path.read_text(encoding="utf-8")) == []
