# SPDX-License-Identifier: GPL-3.0-or-later
"""Names are nouns and verbs, and text is plain American English: the worst patterns are refused."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.sources import check_all

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
ANSIBLE = sources.files(
    *(
        f"{folder}/**/{pattern}"
        for folder in ("roles", "playbooks", "molecule", "tests/cluster")
        for pattern in ("*.yml", "*.j2")
    )
)
PYTHON = sources.files("plugins/**/*.py", "tests/**/*.py", "tools/**/*.py")
TEXTS = sources.files(
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


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every name that the code binds: variables, arguments, functions, classes, attributes, aliases."""
    for node in nodes:
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


def names_of_file(path: str) -> Iterator[str]:
    """The names that a file of Ansible binds, without the prefix of the role: `found` of `launch__found`."""
    names = jinja_names(sources.text(path))
    if path.endswith(".yml"):
        document = sources.document(path)
        names += ansible_names(document)
        if path.split("/")[-2] in ("vars", "defaults"):
            names += map(str, document or {})
    return (name.rpartition("__")[2] for name in names)


def texts(source: str, nodes: Iterable[ast.AST], strings: bool = True) -> Iterator[str]:
    """Every text of the code: docstrings and comments, and the other strings too unless they quote what is refused."""
    for node in nodes:
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
    check_all(PYTHON, lambda path: sorted(REFUSED_NAMES.intersection(bound_names(sources.nodes(path)))))


def test_names_of_roles_and_templates_are_nouns_and_verbs() -> None:
    check_all(ANSIBLE, lambda path: sorted(REFUSED_NAMES.intersection(names_of_file(path))))


def test_texts_of_the_code_are_plain_english() -> None:
    """The strings of tests are left out: they quote what they refuse."""

    def breaches(path: str) -> list[str]:
        strings = not path.startswith("tests/")
        return phrases("\n".join(texts(sources.text(path), sources.nodes(path), strings)))

    check_all(PYTHON, breaches)


def test_pages_and_roles_are_plain_english() -> None:
    written_by_the_fault_suite = "docs/faults.md"
    pages = [path for path in TEXTS if path != written_by_the_fault_suite]
    check_all(pages, lambda path: phrases(text_without_code(sources.text(path))))


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
    nodes = list(ast.walk(ast.parse(code)))
    assert [phrases(text) for text in texts(code, nodes, strings=False)] == [["told of"], ["for ever"]]
    assert ["nobody"] in [phrases(text) for text in texts(code, nodes)]
    assert not phrases("There is no run. It is no longer active, and the license is recognized.")
    assert list(bound_names(ast.walk(ast.parse("for each in x:\n    found = said.seen")))) == ["each", "found"]
    tasks = [{"block": [{"register": "told", "vars": {"own": 1}}], "loop_control": {"loop_var": "each"}}]
    assert list(ansible_names(tasks)) == ["told", "own", "each"]
    template = "{% for each, there in x %}{%- set seen = 1 %}{% macro line(said) %}{{ found }}"
    assert jinja_names(template) == ["each", "there", "seen", "line", "said"]


def test_a_changelog_has_no_markup_of_modules() -> None:
    """The changelog is reStructuredText, which shows C(...) as it is."""
    markup = re.compile(r"\b[CEMOVPIBLUR]\([^)]*\)")
    check_all(sources.files("changelogs/fragments/*.yml"), lambda path: markup.findall(sources.text(path)))
