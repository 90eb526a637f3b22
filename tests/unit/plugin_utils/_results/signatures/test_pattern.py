# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a line: texts in their order, at the edges of words and numbers."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.pattern import Pattern

CASES = [
    ("error 1", "an error 1, opcode 0", True),
    ("error 1", "an error 12, opcode 0", False),
    ("error 1", "an error 12, then error 1", True),
    ("error 1*", "an error 12", True),
    ("OOM", "BOOM", False),
    ("*OOM", "BOOM", True),
    ("OOM", "7OOM_killed", True),
    ("a * b", "a x b", True),
    ("a * b", "b a x", False),
    ("peer * error 5", "peer 10.0.0.5 error 55, error 5", True),
    ("peer * error 5", "error 5 peer 10.0.0.5", False),
    ("(PCI:*): 79,", "Xid (PCI:0000:79:00): 79, pid", True),
    ("(PCI:*): 79,", "Xid (PCI:0000:79:00): 13, pid", False),
]


@pytest.mark.parametrize(("pattern", "line", "is_match"), CASES)
def test_a_line_matches(pattern: str, line: str, is_match: bool) -> None:
    assert Pattern.of(pattern).matches(line.encode()) is is_match


@pytest.mark.parametrize("text", ["", "*", "**"])
def test_a_pattern_has_text(text: str) -> None:
    with pytest.raises(ValueError, match="without text"):
        Pattern.of(text)


def test_the_longer_pattern_says_more() -> None:
    assert Pattern.of("NCCL WARN * failed").size > Pattern.of("failed *").size
