# SPDX-License-Identifier: GPL-3.0-or-later
"""The walk-throughs of docs/walkthroughs, applied to a copy of the checkout exactly as written: their tests pass there.

A block follows a line that names its file. A new file is whole. An edit is a diff without line numbers: what it removes
and keeps must be in the file exactly once, and a line `@@` divides two edits.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tools.sanity import copy_checkout

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "walkthroughs").glob("add-*.md"))
BLOCK = re.compile(r"^`([\w./-]+)`( \(new file\))?:\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```\n((?:\w.*\n)+)```$", re.MULTILINE)
# What the rules of the whole collection say of the new code.
RULES = [f"tests/unit/test_{name}.py" for name in ("architecture", "collection", "docs", "language", "playbooks")]


def blocks(page: Path) -> list[tuple[str, bool, str]]:
    """The page's blocks: the file, whether it is new, and the block's text."""
    text = page.read_text(encoding="utf-8")
    return [(path, bool(new), block) for path, new, _language, block in BLOCK.findall(text)]


def commands(page: Path) -> list[list[str]]:
    text = page.read_text(encoding="utf-8")
    return [shlex.split(line) for block in COMMANDS.findall(text) for line in block.splitlines()]


def edit(text: str, diff: str) -> str:
    """Apply the edits of a block; each must match one place of the text."""
    text = f"\n{text}"
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
        before = "".join(f"\n{line}" for mark, line in lines if mark in " -") + "\n"
        after = "".join(f"\n{line}" for mark, line in lines if mark in " +") + "\n"
        count = len(re.findall(f"(?={re.escape(before)})", text))
        assert count == 1, f"{count} places match:\n{hunk}"
        text = text.replace(before, after)
    return text[1:]


def content(page: Path, checkout: Path) -> dict[Path, str]:
    """The files of the page as it makes them of those in the checkout."""
    files = {}
    for name, new, block in blocks(page):
        path = checkout / name
        assert path.exists() is not new, name
        files[path] = block if new else edit(path.read_text(encoding="utf-8"), block)
    return files


def run(argv: list[str], checkout: Path) -> None:
    """Run a Python module in the checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    result = subprocess.run(
        [sys.executable, "-m", *argv], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{shlex.join(argv)}\n{result.stdout[-4000:]}\n{result.stderr[-2000:]}"


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """A copy of the checkout with all pages applied."""
    with tempfile.TemporaryDirectory(prefix="muster-walkthroughs-") as temporary:
        copy = Path(temporary)
        copy_checkout(copy)
        for page in PAGES:
            for path, text in content(page, copy).items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        yield copy


def test_there_is_a_page_for_each_kind_of_addition() -> None:
    kinds = ("check", "gpu-vendor", "launcher", "rule", "runtime", "starter", "verb")
    assert [page.stem for page in PAGES] == [f"add-a-{kind}" for kind in kinds]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_page_applies_alone_and_runs_its_tests(page: Path) -> None:
    assert content(page, ROOT)
    tests = {name for name, _new, _block in blocks(page) if name.startswith("tests/")}
    targets = {word for command in commands(page) for word in command}
    assert tests
    assert all(targets & {test, *map(str, Path(test).parents)} for test in tests)
    assert all(command[0] == "pytest" for command in commands(page))


def test_the_new_code_is_formatted(checkout: Path) -> None:
    run(["ruff", "check", "--quiet", "--no-cache", "plugins", "tests"], checkout)
    run(["ruff", "format", "--check", "--quiet", "--no-cache", "plugins", "tests"], checkout)


def test_the_commands_of_the_pages_pass(checkout: Path) -> None:
    """In one process where they choose no tests by name, with the rules of the collection."""
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={checkout / '.pytest'}"]
    every = [command for page in PAGES for command in commands(page)]
    targets = dict.fromkeys([word for command in every if "-k" not in command for word in command[1:]] + RULES)
    for command in [["pytest", *targets], *(command for command in every if "-k" in command)]:
        run([*command, *options], checkout)


def test_an_edit_that_no_longer_applies_is_refused() -> None:
    assert edit("a\nb\nc\n", " a\n-b\n+d\n@@\n-c\n") == "a\nd\n"
    for text in ("a\n", "a\nb\na\nb\n"):
        with pytest.raises(AssertionError, match="places match"):
            edit(text, " a\n-b\n")
