# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalog of known lines: each entry finds its example, as the best of all, and not what only looks like it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.signatures import signature
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.diagnosis import scanner
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.pattern import ANYTHING, Pattern
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.signature import Signature
from ansible_collections.muster.train.tests.support.sources import check_all

# Programs write in front of a line: torchrun, torch, the runner of a node and Kubernetes.
PREFIXES = ("[default3]:", "[rank3]: ", "2026-11-20T14:30:52.123Z ", "2026-11-20T14:30:52.123456789Z stderr F ")
ENTRIES = {entry.name: entry for entry in signature.load()}
ENTRY = """
- name: a
  line: "x * y"
  cause: c
  fix: f
  source: s
  example: "x 1 y"
  near_miss: "y x"
"""


def test_a_name_means_one_entry() -> None:
    assert len(ENTRIES) == len(signature.load()) >= 200


def test_an_example_is_best_explained_by_its_entry() -> None:
    def breaches(entry: Signature) -> list[str]:
        lines = [entry.example, *(prefix + entry.example for prefix in PREFIXES)]
        best = [scanner().best(line.encode()) for line in lines]
        return [
            f"{line!r} is {match and match.name}" for line, match in zip(lines, best, strict=True) if match != entry
        ]

    check_all(ENTRIES.values(), breaches)


def test_a_near_miss_is_none() -> None:
    check_all(ENTRIES.values(), lambda entry: ["matches"] * entry.matches(entry.near_miss.encode()))


def broader(pattern: Pattern) -> Iterator[Pattern]:
    """Return the pattern without any one part of it, of at most half of its text."""
    middle = ANYTHING.join(part.decode() for part in pattern.parts)
    text = f"{'' if pattern.has_start else ANYTHING}{middle}{'' if pattern.has_end else ANYTHING}"
    for size in range(1, len(text) // 2 + 1):
        for start in range(len(text) - size + 1):
            rest = text[:start] + ANYTHING + text[start + size :]
            if rest.strip(ANYTHING):
                yield Pattern.of(rest)


def test_a_near_miss_is_near() -> None:
    """A pattern that says less than the entry's matches it, so that a pattern that becomes too broad is found."""

    def breaches(entry: Signature) -> list[str]:
        line = entry.near_miss.encode()
        is_near = any(less.matches(line) for pattern in entry.patterns for less in broader(pattern))
        return [] if is_near else [f"{entry.near_miss!r} shares too little with {entry.example!r}"]

    check_all(ENTRIES.values(), breaches)


def test_what_is_known_is_said_in_short_sentences() -> None:
    """The report of a failed run has a line for each."""

    def breaches(entry: Signature) -> list[str]:
        texts = {"cause": entry.cause, "fix": entry.fix}
        return [
            *(f"{name}: {len(text)} signs" for name, text in texts.items() if len(text) > 200),
            *(f"{name}: no sentence" for name, text in texts.items() if not text.endswith(".")),
            *["no source"] * (not entry.source),
        ]

    check_all(ENTRIES.values(), breaches)


def test_an_entry() -> None:
    (entry,) = signature.parse(ENTRY)
    assert (entry.name, entry.kind, entry.is_obvious, entry.matches(b"x 1 y")) == ("a", "cause", False, True)


@pytest.mark.parametrize("wrong", ["kind: reason", "line: '*'", "colour: red"])
def test_an_entry_that_is_not_as_it_should_be(wrong: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        list(signature.parse(f"{ENTRY}  {wrong}\n"))
